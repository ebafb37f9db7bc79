"""Which loop a fit is for: little is left to scikit-learn; the compiler is loaded late."""

from __future__ import annotations

import numpy as np
import pytest

from kseeds.sklearn import KMeans, costs, fitting
from tests.harness.isolation import run


@pytest.mark.parametrize("shape", [(300, 2), (5_000, 20), (1_000_000, 20), (100, 5_000)])
def test_few_clusters_are_for_scikit_learn(shape):
    assert not costs.lloyd_pays(shape, 3)


@pytest.mark.parametrize("k", [3, 8, 100, 299])
def test_few_rows_are_for_scikit_learn(k):
    assert not costs.lloyd_pays((300, 2), k)


@pytest.mark.parametrize("shape", [(60_000, 3), (60_000, 8), (500_000, 54), (60_000, 784)])
@pytest.mark.parametrize("k", [100, 1_000])
def test_many_of_both_are_ours(shape, k):
    assert costs.lloyd_pays(shape, k)
    assert costs.assign_pays(shape, k) == costs.lloyd_pays(shape, k)


def test_more_clusters_never_go_back_to_scikit_learn():
    for shape in [(2_000, 2), (50_000, 10), (20_000, 300)]:
        ours = [costs.lloyd_pays(shape, k) for k in range(1, 2_000)]
        assert ours == sorted(ours)


def test_it_depends_on_the_shape_and_nothing_else(monkeypatch):
    used = []
    for name in ("_by_ours", "_by_theirs"):
        real = getattr(fitting, name)
        monkeypatch.setattr(
            fitting, name, lambda *a, real=real, name=name: used.append(name) or real(*a)
        )
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    for threads in (1, 5):
        monkeypatch.setattr(fitting, "_openmp_effective_n_threads", lambda n=threads: n)
        KMeans(4, random_state=0, max_iter=2).fit(X)
        KMeans(64, random_state=0, max_iter=2).fit(X)
    assert used == 2 * ["_by_theirs", "_by_ours"]


def test_the_compiler_is_loaded_once_fits_have_taken_as_long():
    done = run(
        """
        import sys
        import numpy as np
        from kseeds.sklearn import KMeans, costs, loading
        costs.lloyd_pays = lambda shape, k: True
        X = np.random.default_rng(0).normal(size=(300, 2))
        for seconds in (0.0, 10.0):
            loading._SPENT["seconds"] += seconds
            before = loading._SPENT["seconds"]
            labels = KMeans(3, random_state=0).fit_predict(X).tolist()
            print("numba" in sys.modules, loading._SPENT["seconds"] > before, hash(tuple(labels)))
        """
    )
    first, second = (line.split() for line in done.stdout.splitlines())
    assert (first[:2], second[:2]) == (["False", "True"], ["True", "False"])
    assert first[2] == second[2]
