"""Keywords that do not exist, or belong to another algorithm: say so, and what was meant."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from kseeds import greedy_kmeans_plusplus, kmeans_parallel, kmeans_plusplus
from kseeds.inputs.keywords import KEYWORDS

X = np.random.default_rng(0).normal(size=(10, 3))
FUNCTIONS = [kmeans_plusplus, kmeans_parallel]

MEANT = [
    ("random_sate", "random_state"),
    ("seed", "random_state"),
    ("rng", "random_state"),
    ("n_jobs", "n_threads"),
    ("n_thread", "n_threads"),
    ("threads", "n_threads"),
    ("sample_weights", "sample_weight"),
    ("weights", "sample_weight"),
    ("init", "initial_centers"),
    ("initial_centres", "initial_centers"),
    ("Metric", "metric"),
    ("algoritm", "algorithm"),
    ("verbose", "progress"),
]


@pytest.mark.parametrize("algorithm", ["auto", "naive", "paper"])
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(("given", "meant"), MEANT)
def test_the_right_name_is_suggested(function, given, meant, algorithm):
    keywords = {"algorithm": algorithm, given: np.ones((10, 30))}
    message = rf"^{given} is unknown to {function.__name__}; use {meant}\.$"
    with pytest.raises(TypeError, match=message):
        function(X, 3, **keywords)


@pytest.mark.parametrize(
    ("function", "keywords", "message"),
    [
        (kmeans_plusplus, {"speed": 9}, r"^speed is unknown to kmeans_plusplus; it takes sample_w"),
        (kmeans_plusplus, {"oversampling": 2.0}, r"^oversampling is unknown to .*plusplus; it is a "
         r"keyword of kmeans_parallel\.$"),
        (kmeans_plusplus, {"n_local_trials": 3}, r"it is a keyword of greedy_kmeans_plusplus\.$"),
        (greedy_kmeans_plusplus, {"n_trials": 3}, r"; use n_local_trials\.$"),
        (greedy_kmeans_plusplus, {"reduction": "greedy"}, r"is a keyword of kmeans_parallel\.$"),
        (kmeans_parallel, {"oversampling_factor": 2}, r"; use oversampling\.$"),
        (kmeans_plusplus, {"bacth": 8}, r"^bacth is unknown to kmeans_plusplus; use batch"),
        (kmeans_plusplus, {"batch": 8}, r"^batch=8 is an option of algorithm='lazy' only; "
         r"pass that, too\.$"),
        (kmeans_plusplus, {"queue": True}, r"^queue=True is an option of algorithm='paper' only"),
        (kmeans_parallel, {"strategy": "tree"},
         r"^strategy='tree' is an option of algorithm='fast'"),
        (kmeans_parallel, {"in_range": True}, r"^in_range=True is an option of algorithm='paper'"),
        (kmeans_parallel, {"queue": True}, r"^queue is unknown to kmeans_parallel"),
        (kmeans_plusplus, {"algorithm": "paper", "batch": 8},
         r"^batch=8 is not an option of algorithm='paper', which has keys, queue; "
         r"algorithm='lazy' has it\.$"),
        (kmeans_plusplus, {"algorithm": "naive", "queue": True},
         r"^queue=True is not an option of algorithm='naive', which has none; algorithm='paper'"),
        (kmeans_plusplus, {"algorithm": "paper", "random_sate": 9}, r"; use random_state\.$"),
        (kmeans_plusplus, {"algorithm": "paper", "keys": X}, r"^keys=array\(\[\[.*\.\.\. is not"),
    ],
)  # fmt: skip
def test_an_option_of_another_algorithm_is_pointed_out(function, keywords, message):
    with pytest.raises((TypeError, ValueError), match=message) as caught:
        function(X, 3, **keywords)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("function", [*FUNCTIONS, greedy_kmeans_plusplus])
def test_the_known_keywords_are_those_of_the_function(function):
    parameters = inspect.signature(function).parameters.values()
    names = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    assert sorted(KEYWORDS[function.__name__]) == sorted(names)


@pytest.mark.parametrize("name", ["n_clusters", "n_threads", "random_state", "metric", "algorithm"])
def test_messages_stay_on_one_line(name):
    with pytest.raises((TypeError, ValueError), match=rf"^{name}=array\(\[\[") as caught:
        kmeans_plusplus(**{"X": X, "n_clusters": 3, name: np.ones((30, 30))})
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("name", ["n_clusters", "rounds", "n_threads", "random_state"])
def test_integers_too_long_to_print_are_refused_in_a_line(name):
    value = -(10**5000) if name != "n_clusters" else 10**5000
    with pytest.raises(ValueError, match=rf"^{name}=<int> is "):
        kmeans_parallel(**{"X": X, "n_clusters": 3, name: value})
