"""Golden indices, in fresh processes: threads, memory orders, cold and warm caches, tiers."""

from __future__ import annotations

import json
import os
import random

import pytest

from tests.harness import profiles
from tests.harness.catalogue import VARIANTS
from tests.harness.golden import EUCLIDEAN, OTHER
from tests.harness.isolation import run
from tests.harness.profiles import scaled

GOLDEN = [
    (
        (
            "kmeans_plusplus(auto)",
            "kmeans_plusplus(lazy)",
            "kmeans_plusplus(lazy,kernels=auto)",
            "kmeans_plusplus(lazy,kernels=plain)",
            "kmeans_plusplus(lazy,kernels=compiled)",
            "kmeans_plusplus(lazy,refresh=auto)",
            "kmeans_plusplus(lazy,refresh=never)",
            "kmeans_plusplus(lazy,refresh=partial)",
            "kmeans_plusplus(lazy,refresh=full)",
        ),
        [
            [6025, 199, 5165, 2012, 7364, 8149, 7609, 5035, 4757],
            [6015, 203, 8834, 5137, 202, 7311],
            [401, 12, 587, 306, 475, 515],
            [3, 78, 42, 64],
        ],
    ),
    (
        ("kmeans_plusplus(lazy,batch=64)",),
        [
            [6025, 199, 5165, 2012, 7364, 8149, 7609, 5035, 4757],
            [6015, 203, 8834, 5137, 202, 7311],
            [401, 12, 587, 306, 475, 342],
            [3, 78, 42, 64],
        ],
    ),
    (
        ("kmeans_plusplus(lazy,batch=8)",),
        [
            [6025, 199, 4590, 7131, 2012, 7609, 1277, 2967, 4393],
            [6015, 203, 8834, 5137, 3306, 290],
            [401, 12, 587, 306, 475, 515],
            [3, 78, 42, 64],
        ],
    ),
    (
        ("kmeans_plusplus(lazy,batch=1)",),
        [
            [6025, 199, 5166, 3875, 2085, 7611, 549, 5051, 771],
            [6015, 203, 202, 843, 2042, 7558],
            [401, 12, 343, 76, 142, 509],
            [3, 48, 10, 14],
        ],
    ),
    (
        (
            "kmeans_plusplus(naive)",
            "kmeans_plusplus(paper)",
            "kmeans_plusplus(paper,keys=clock)",
            "kmeans_plusplus(paper,queue=True)",
            "kmeans_plusplus(paper,queue=False)",
        ),
        [
            [8529, 8155, 2960, 4240, 3436, 3444, 5679, 3425, 8751],
            [8529, 8155, 2960, 4240, 8751, 5679],
            [10, 426, 561, 102, 268, 321],
            [10, 62, 43, 70],
        ],
    ),
    (
        ("kmeans_plusplus(rounds)",),
        [
            [6025, 199, 7131, 5165, 2012, 7364, 8149, 1081, 4757],
            [6015, 203, 8834, 7074, 5137, 1064],
            [401, 12, 587, 306, 475, 342],
            [3, 78, 42, 64],
        ],
    ),
    (
        (
            "greedy_kmeans_plusplus(auto)",
            "greedy_kmeans_plusplus(fast)",
            "greedy_kmeans_plusplus(fast,strategy=plain)",
            "greedy_kmeans_plusplus(fast,strategy=columns)",
            "greedy_kmeans_plusplus(fast,strategy=pool)",
            "greedy_kmeans_plusplus(fast,strategy=tree)",
            "greedy_kmeans_plusplus(fast,strategy=projected_tree)",
            "greedy_kmeans_plusplus(naive)",
        ),
        [
            [8529, 8441, 2198, 8527, 4987, 4897, 3191, 8788, 6553],
            [8529, 8006, 488, 5653, 4973, 8585],
            [10, 535, 540, 144, 259, 1],
            [71, 75, 22, 8],
        ],
    ),
    (
        (
            "kmeans_parallel(auto)",
            "kmeans_parallel(fast)",
            "kmeans_parallel(fast,strategy=plain)",
            "kmeans_parallel(fast,strategy=brute)",
            "kmeans_parallel(fast,strategy=tree)",
            "kmeans_parallel(fast,strategy=projected_tree)",
            "kmeans_parallel(fast,strategy=projected_scan)",
            "kmeans_parallel(fast,strategy=gemm)",
            "kmeans_parallel(fast,strategy=quantized)",
            "kmeans_parallel(fast,strategy=quantized_scan)",
            "kmeans_parallel(fast,strategy=vantage)",
        ),
        [
            [1985, 3903, 4547, 7130, 647, 2052, 7800, 8349, 1010],
            [3005, 1471, 3551, 3903, 1010, 2525],
            [94, 242, 458, 456, 230, 509],
            [73, 43, 41, 56],
        ],
    ),
    (
        (
            "kmeans_parallel(naive)",
            "kmeans_parallel(paper)",
            "kmeans_parallel(paper,in_range=True)",
            "kmeans_parallel(paper,in_range=False)",
        ),
        [
            [7920, 7620, 5639, 3132, 8225, 4767, 8981, 697, 7725],
            [4871, 5639, 2579, 1115, 6576, 2074],
            [1, 547, 201, 340, 185, 526],
            [63, 30, 56, 71],
        ],
    ),
]

EXPECTED = {name: found for names, found in GOLDEN for name in names}

CODE = """
import json, sys
from tests.harness.golden import table
from tests.harness.signatures import compiled_twice
print(json.dumps(
    [table(order, n, {chosen!r}) for order in {orders!r} for n in {threads!r}]
))
assert "numba" in sys.modules, "nothing was compiled"
assert not compiled_twice(), compiled_twice()
"""


def check(orders, threads, seconds=300.0, chosen=None, **how):
    """Compare the seeds of all variants, or of some jobs of some, in a process of their own."""
    code = CODE.format(orders=orders, threads=threads, chosen=chosen)
    done = run(code, seconds=seconds, **how)
    wanted = EXPECTED
    if chosen is not None:
        wanted = {name: [EXPECTED[name][i] for i in numbers] for name, numbers in chosen.items()}
    for found in json.loads(done.stdout):
        assert set(found) == set(wanted), "python -m tests.harness.golden prints the new table"
        for name in wanted:
            assert found[name] == wanted[name], name


def test_every_variant_has_golden_indices():
    assert sorted(EXPECTED) == sorted(map(str, VARIANTS))


def test_threads_and_orders():
    check(["C", "F"], [1, 2, 5])


def each_once(seed):
    """Return every job of every variant, and in a part of the long profile one job of each.

    For processes that find nothing compiled: most of their time is for compiling, which they do
    for every kind of rows and metric. The kernels of lazy k-means++ and of vantage trees, which
    serve other metrics, too, are also compiled for one of those.
    """
    if profiles.SCALE >= 1.0:
        return None
    chosen = {
        name: [EUCLIDEAN[(seed + place) % len(EUCLIDEAN)]] for place, name in enumerate(EXPECTED)
    }
    for name in chosen:
        if "=compiled" in name or "=vantage" in name:
            chosen[name].append(OTHER)
    return chosen


COMPILED = [
    name
    for name in EXPECTED
    if "paper" in name or "=compiled" in name or ("strategy=" in name and "=plain" not in name)
]
"""Variants that are compiled, however small the job."""


def some_compiled(seed):
    """Return every variant in the long profile; in a part of it, one job of some that compile."""
    chosen = each_once(seed)
    if chosen is None:
        return None
    some = random.Random(seed).sample(COMPILED, scaled(len(COMPILED)))
    return {name: chosen[name] for name in some}


@pytest.mark.long
def test_cold_and_warm_cache(tmp_path, seed_offset):
    """The first process compiles everything, the second one finds it compiled."""
    for _ in range(2):
        some = some_compiled(seed_offset)
        check(["C"], [2], seconds=900.0, chosen=some, NUMBA_CACHE_DIR=str(tmp_path))
        assert any(tmp_path.rglob("*.nbc"))


@pytest.mark.long
def test_no_cache(tmp_path, seed_offset):
    some = some_compiled(seed_offset + 1)
    check(["C"], [2], seconds=900.0, chosen=some, NUMBA_CACHE_DIR=str(tmp_path), KSEEDS_CACHE="0")
    assert not any(tmp_path.iterdir())


PLAIN = """
import json, sys
from kseeds import kmeans_parallel, kmeans_plusplus
from tests.harness.golden import data
X, weights = data()
print(json.dumps([
    kmeans_plusplus(X, 9, random_state=7).indices.tolist(),
    kmeans_parallel(X, 9, random_state=7).indices.tolist(),
]))
print("numba" in sys.modules)
"""


def test_before_and_after_the_compiler_is_loaded():
    """A first call in a process runs in plain NumPy and gives the same seeds."""
    done = run("import kseeds.runtime.compiler\n" + PLAIN).stdout.splitlines()
    first = run(PLAIN).stdout.splitlines()
    assert (done[1], first[1]) == ("True", "False")
    assert done[0] == first[0]
    wanted = [EXPECTED["kmeans_plusplus(auto)"][0], EXPECTED["kmeans_parallel(auto)"][0]]
    assert json.loads(first[0]) == wanted
    assert os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
