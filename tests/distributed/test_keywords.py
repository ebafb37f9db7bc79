"""Keywords that the functions for clusters and `assign` do not have: say what was meant."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest

import kseeds

pytest.importorskip("pyspark")
da = pytest.importorskip("dask.array")
on_dask = pytest.importorskip("kseeds.dask")
on_spark = pytest.importorskip("kseeds.spark")

SEEDERS = [
    (on_dask.kmeans_plusplus, "kseeds.dask.kmeans_plusplus"),
    (on_dask.kmeans_parallel, "kseeds.dask.kmeans_parallel"),
    (on_spark.kmeans_plusplus, "kseeds.spark.kmeans_plusplus"),
    (on_spark.kmeans_parallel, "kseeds.spark.kmeans_parallel"),
]
ASSIGNERS = [
    (kseeds.assign, "assign"),
    (on_dask.assign, "kseeds.dask.assign"),
    (on_spark.assign, "kseeds.spark.assign"),
]
FITTERS = [
    (on_dask.kmeans, "kseeds.dask.kmeans"),
    (on_spark.kmeans, "kseeds.spark.kmeans"),
]


def refused(function, **keywords):
    with pytest.raises(TypeError) as caught:
        function([[1.0]], [[1.0]], **keywords)
    return str(caught.value)


@pytest.mark.parametrize(("function", "title"), SEEDERS)
@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        ("random_sate", "use random_state"),
        ("seed", "use random_state"),
        ("weight", "use sample_weight"),
        ("sample_weights", "use sample_weight"),
        ("init", "use initial_centers"),
        ("centers", "use initial_centers"),
        ("verbose", "use progress"),
        ("k", "use n_clusters"),
        ("chache", "use cache"),
        ("n_jobs", "leave it out, Dask and Spark set the number of threads"),
        ("n_threads", "leave it out, Dask and Spark set the number of threads"),
        ("algorithm", "leave it out, there is one algorithm for data in partitions"),
    ],
)
def test_unknown_keywords_of_seeding_get_a_remedy(function, title, given, remedy):
    assert refused(function, **{given: 3}) == f"{given} is unknown to {title}; {remedy}."


@pytest.mark.parametrize(
    ("function", "title", "given", "remedy"),
    [
        (*SEEDERS[0], "oversampling", "it is a keyword of kseeds.dask.kmeans_parallel."),
        (*SEEDERS[2], "rounds", "it is a keyword of kseeds.spark.kmeans_parallel."),
        (*SEEDERS[1], "oversampling_factor", "use oversampling."),
        (*SEEDERS[2], "X", "use frame."),
        (*SEEDERS[2], "feature", "use features."),
        (*SEEDERS[0], "speed", "it takes X, n_clusters, sample_weight, metric, initial_centers, "
         "random_state, cache, progress."),
        (*FITTERS[0], "n_jobs", "leave it out, Dask and Spark set the number of threads."),
        (*FITTERS[0], "initial_centers", "it is a keyword of kseeds.dask.kmeans_plusplus."),
        (*FITTERS[1], "labels", "use label."),
        (*FITTERS[1], "n_inits", "use n_init."),
        (*ASSIGNERS[0], "n_jobs", "use n_threads."),
        (*ASSIGNERS[0], "weight", "use sample_weight."),
        (*ASSIGNERS[0], "sample_weights", "use sample_weight."),
        (*ASSIGNERS[0], "centres", "use centers."),
        (*ASSIGNERS[0], "random_state", "it is a keyword of kmeans_plusplus."),
        (*ASSIGNERS[0], "random_sate", "it takes X, centers, sample_weight, metric, n_threads."),
        (*ASSIGNERS[1], "n_jobs", "leave it out, Dask and Spark set the number of threads."),
        (*ASSIGNERS[1], "sample_weight", "it is a keyword of kseeds.dask.kmeans_plusplus."),
        (*ASSIGNERS[2], "labels", "use label."),
        (*ASSIGNERS[2], "n_threads", "leave it out, Dask and Spark set the number of threads."),
    ],
)  # fmt: skip
def test_unknown_keywords_of_one_function_get_a_remedy(function, title, given, remedy):
    assert refused(function, **{given: 3}) == f"{given} is unknown to {title}; {remedy}"


def test_functions_in_memory_do_not_speak_of_clusters():
    with pytest.raises(TypeError, match=r"^features is unknown to kmeans_plusplus; it takes "):
        kseeds.kmeans_plusplus(np.eye(3), 2, features=["a"])
    with pytest.raises(TypeError, match=r"^centers is unknown to .*; use initial_centers\.$"):
        kseeds.kmeans_plusplus(np.eye(3), 2, centers=[[1.0]])


@pytest.mark.parametrize(("function", "title"), SEEDERS + ASSIGNERS + FITTERS)
def test_signatures_are_those_of_the_functions(function, title):
    """For help(), editors and type checkers; and nothing is taken that is not there."""
    parameters = inspect.signature(function).parameters.values()
    known = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    assert all(one.kind in known for one in parameters)
    assert function.__name__ == title.rpartition(".")[2]
    assert function.__doc__


def test_warnings_point_at_the_caller():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        on_dask.kmeans_plusplus(da.ones((8, 1), chunks=4), 2, random_state=0)
    assert [w.filename for w in seen if w.category is kseeds.FewerDistinctPointsWarning] == [
        __file__
    ]
