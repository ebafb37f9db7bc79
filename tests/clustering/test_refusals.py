"""What `kmeans` refuses: in one sentence that names the argument, the value and a remedy."""

from __future__ import annotations

import numpy as np
import pytest

from kseeds import kmeans, kmeans_plusplus

X = np.random.default_rng(0).normal(size=(20, 3))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n_clusters": 0}, ValueError, r"^n_clusters=0 is too small"),
        ({"n_clusters": 21}, ValueError, r"more than the 20 rows of X; ask for at most 20 clust"),
        ({"n_init": 1.5}, TypeError, r"^n_init=1\.5 is not an integer"),
        ({"max_iter": 0}, ValueError, r"^max_iter=0 is too small"),
        ({"tol": -1}, ValueError, r"^tol=-1 is out of range; pass a finite number of at least 0"),
        ({"tol": np.nan}, ValueError, r"^tol=nan is out of range"),
        ({"tol": 10**400}, ValueError, r"^tol=1.* is out of range; pass a finite number"),
        ({"tol": "0"}, TypeError, r"^tol='0' is not a number"),
        ({"metric": "manhattan"}, ValueError,
         r"^metric='manhattan' has no mean .* kmeans takes 'euclidean' or 'cosine'\.$"),
        ({"metric": "nonsense"}, ValueError, r"^metric='nonsense' is unknown"),
        ({"metric": lambda a, b: 0.0}, ValueError, r"^metric=<function .* has no mean"),
        ({"init": "kmeans++"}, ValueError, r"^init='kmeans\+\+' is unknown to kmeans; use one of "
         r"k-means\+\+, greedy, k-means\|\|, random, an array of centres or a seeding\.$"),
        ({"init": None}, TypeError, r"^init=None is no start of kmeans"),
        ({"init": kmeans_plusplus}, TypeError, r"^init=<function .* is no start"),
        ({"init": X[:4]}, ValueError, r"^init has 4 centres but n_clusters=5; pass one row per"),
        ({"init": kmeans_plusplus(X, 4)}, ValueError, r"^init has 4 centres but n_clusters=5"),
        ({"init": X[:5, :2]}, ValueError, r"^init has 2 columns but the data has 3"),
        ({"init": np.full((5, 3), np.nan)}, ValueError, r"^init has nan in 5 rows"),
        ({"init": X[0]}, ValueError, r"^init has 1 dim.*; use init\.reshape\(1, -1\) for a single"),
        ({"init": X[:2, 0]}, ValueError, r"^init has 1 dim.*; pass rows of 3 columns, as the data"),
        ({"X": X[:, :1], "init": X[:5, 0]}, ValueError, r"; use init\.reshape\(-1, 1\) for"),
        ({"X": np.where(X > 2, np.nan, X) * np.nan}, ValueError, r"^X has .*nan"),
        ({"X": X * 0, "metric": "cosine"}, ValueError, r"^X has a zero vector at row 0"),
        ({"sample_weight": np.ones(3)}, ValueError, r"^sample_weight has shape \(3,\)"),
        ({"sample_weight": np.eye(20)[0]}, ValueError, r"^n_clusters=5 .* at most 1 clusters\.$"),
        ({"sample_weight": 1.0}, ValueError, r"^sample_weight=1.0 is a single number; pass one w"),
        ({"algorithm": "fast"}, ValueError, r"^algorithm='fast' is unknown to kmeans; use one of"),
        ({"random_state": -1}, ValueError, r"^random_state=-1 is negative"),
        ({"n_threads": 0}, ValueError, r"^n_threads=0 is too small"),
        ({"progress": 3}, TypeError, r"^progress=3 is not possible"),
        ({"n_jobs": 3}, TypeError, r"^n_jobs is unknown to kmeans; use n_threads\.$"),
    ],
)  # fmt: skip
def test_it_is_refused_in_a_sentence(arguments, error, message):
    with pytest.raises(error, match=message) as caught:
        kmeans(**{"X": X, "n_clusters": 5, **arguments})
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


def test_a_refusal_leaves_the_generator_alone():
    generator = np.random.default_rng(0)
    before = generator.bit_generator.state
    with pytest.raises(ValueError, match="nan"):
        kmeans(X * np.nan, 3, random_state=generator)
    assert generator.bit_generator.state == before
