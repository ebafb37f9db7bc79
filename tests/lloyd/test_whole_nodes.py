"""A node that was whole for a while and is opened again has rows as far away as they are by now."""

from __future__ import annotations

import numpy as np
import pytest

from kseeds import kmeans


@pytest.mark.parametrize(("seed", "n", "k"), [(37, 12_000, 39), (38, 12_000, 22), (2, 20_000, 16)])
@pytest.mark.parametrize("d", [1, 2])
def test_nodes_that_open_again_are_searched_as_far_as_need_be(seed, n, k, d):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    tree, gemm = (
        kmeans(X, k, init=X[:k], max_iter=40, tol=0, algorithm=algorithm)
        for algorithm in ("tree", "gemm")
    )
    assert np.array_equal(tree.labels, gemm.labels)
    assert np.array_equal(tree.centers, gemm.centers)
    assert tree.n_iter == gemm.n_iter
