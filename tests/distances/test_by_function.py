"""A function as metric: what it may return, and one sentence for everything else."""

from __future__ import annotations

import decimal
import fractions
import re

import numba
import numpy as np
import pytest

from kseeds import assign, kmeans_parallel, kmeans_plusplus

X = np.random.default_rng(0).normal(size=(12, 40))


def distance(a, b):
    return float(np.abs(a - b).sum())


RETURNED = [
    ("far", TypeError, r"'far'"),
    ("1.5", TypeError, r"'1\.5'"),
    (b"1", TypeError, r"b'1'"),
    (None, TypeError, r"None"),
    (1j, TypeError, r"1j"),
    (np.complex128(1), TypeError, r"\(1\+0j\)"),
    (np.array([1.0]), TypeError, r"array\(\[1\.\]\)"),
    (np.ones((2, 2)), TypeError, r"array\(\[\[1\., 1\.\], \[1\., 1\.\]\]\)"),
    ([1.0], TypeError, r"\[1\.0\]"),
    ((), TypeError, r"\(\)"),
    (object, TypeError, r"<class 'object'>"),
    (-1.0, ValueError, r"-1\.0"),
    (-1, ValueError, r"-1\.0"),
    (float("nan"), ValueError, r"nan"),
    (float("inf"), ValueError, r"inf"),
    (10**400, ValueError, r"inf"),
    (np.ma.masked, TypeError, r"masked"),
]


@pytest.mark.parametrize("algorithm", ["auto", "naive"])
@pytest.mark.parametrize("function", [kmeans_plusplus, kmeans_parallel])
@pytest.mark.parametrize(("value", "error", "text"), RETURNED)
def test_what_is_no_dissimilarity_is_refused(function, value, error, text, algorithm):
    def odd(a, b):
        return value

    with pytest.raises(error, match=rf"^metric=odd returned {text} for ") as caught:
        function(X, 3, metric=odd, algorithm=algorithm)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith("; it must return one finite number of 0 or more.")
    assert len(str(caught.value)) < 350


def test_one_wrong_answer_is_enough_to_refuse():
    def sometimes(a, b):
        return None if a[0] == X[7, 0] else distance(a, b)

    with pytest.raises(TypeError, match=r"^metric=sometimes returned None for the rows \[ ?-?\d"):
        assign(X, X[:1], metric=sometimes)


@pytest.mark.parametrize(
    "kind",
    [float, np.float32, np.float64, np.longdouble, decimal.Decimal, fractions.Fraction, np.array],
)
def test_numbers_of_other_kinds_are_taken(kind):
    wanted = assign(X, X[:3], metric=distance)
    found = assign(X, X[:3], metric=lambda a, b: kind(distance(a, b)))
    np.testing.assert_array_equal(found.labels, wanted.labels)
    np.testing.assert_allclose(found.distances, wanted.distances, rtol=1e-6)


def test_whole_numbers_and_flags_are_taken():
    rows = np.array([[0.0], [1.0], [5.0]])
    assert assign(rows, rows[:1], metric=lambda a, b: int(abs(a[0] - b[0]))).distances.tolist() == [
        0, 1, 5,
    ]  # fmt: skip
    assert assign(rows, rows[:1], metric=lambda a, b: a[0] != b[0]).distances.tolist() == [0, 1, 1]


@numba.njit
def compiled_negative(a, b):
    return -1.0


@numba.njit
def compiled_text(a, b):
    return "far"


@numba.njit
def compiled_rows(a, b):
    return a - b


@numba.njit
def compiled_nothing(a, b):
    pass


@numba.njit
def compiled_complex(a, b):
    return 1j


@pytest.mark.parametrize(
    ("metric", "error", "text"),
    [
        (compiled_negative, ValueError, r"-1\.0"),
        (compiled_text, TypeError, r"'far'"),
        (compiled_rows, TypeError, r"array\("),
        (compiled_nothing, TypeError, r"None"),
        (compiled_complex, TypeError, r"1j"),
    ],
)
def test_compiled_functions_are_told_the_same(metric, error, text):
    with pytest.raises(error, match=rf"^metric={metric.__name__} returned {text}") as caught:
        kmeans_plusplus(X, 3, metric=metric)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("dtype", "large"), [(np.float32, "1e+30"), (np.float64, "1e+200")])
def test_dissimilarities_whose_squares_overflow_are_refused(dtype, large):
    remedy = "scale it down or pass the data as float64" if dtype is np.float32 else "scale it down"
    message = f"metric=huge returned {large}, whose square is more than {dtype.__name__} holds; "

    def huge(a, b):
        return float(large)

    with pytest.raises(ValueError, match=f"^{re.escape(message + remedy)}\\.$"):
        kmeans_plusplus(X.astype(dtype), 3, metric=huge)


def test_callable_objects_are_named_in_a_line():
    class Gap:
        def __call__(self, a, b):
            return "far"

        def __repr__(self):
            return "Gap(\n  p=1)"

    with pytest.raises(TypeError, match=r"^metric=Gap\( p=1\) returned 'far'"):
        kmeans_plusplus(X, 3, metric=Gap())


def test_rounds_take_a_function_that_cannot_be_pickled():
    X = np.random.default_rng(0).normal(size=(50, 2))
    found = kmeans_plusplus(
        X, 3, metric=lambda a, b: float(np.abs(a - b).sum()), algorithm="rounds", random_state=0
    )
    assert len(set(found.indices.tolist())) == 3


@pytest.mark.parametrize("answer", [-1.0, np.nan, np.inf])
def test_what_is_no_dissimilarity_on_a_line_is_refused(answer):
    def odd(a, b):
        return answer

    with pytest.raises(ValueError, match=r"metric=odd returned .* it must return one finite"):
        kmeans_plusplus(np.arange(5.0)[:, None], 2, metric=odd)


@pytest.mark.parametrize("algorithm", ["paper"])
def test_the_paper_refuses_a_function(algorithm):
    with pytest.raises(ValueError, match="triangle inequality"):
        kmeans_plusplus(np.eye(3), 2, metric=lambda a, b: 1.0, algorithm=algorithm)
