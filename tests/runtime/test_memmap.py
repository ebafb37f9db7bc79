"""Memory maps: as good as arrays, also when larger than the memory a process may use."""

from __future__ import annotations

import subprocess
import sys
import zlib

import numpy as np
import pytest

import kseeds

ROWS, COLUMNS = (2_000_000, 4_000_000), 32
"""In the short profile and in the long one."""

SCRIPT = """
import resource, sys, zlib
import numpy as np
import kseeds
X = np.load({path!r}, mmap_mode="r")
small = np.asarray(X[:20_000], dtype=np.float32)
def run(X):
    return {call}
run(small)  # loads the compiler before memory is counted
for line in open("/proc/self/status"):
    if line.startswith("VmData"):
        used = int(line.split()[1]) * 1024
allowed = used + X.nbytes // 2
resource.setrlimit(resource.RLIMIT_DATA, (allowed, allowed))
try:
    np.ones(X.shape, dtype=X.dtype)
except MemoryError:
    print(run(X))
"""

CALLS = {
    "plusplus": "kseeds.kmeans_plusplus(X, 8, random_state=0, algorithm='lazy', "
    "kernels='compiled').indices.tolist()",
    "rounds": "kseeds.kmeans_plusplus(X, 8, random_state=0, algorithm='rounds').indices.tolist()",
    "parallel": "kseeds.kmeans_parallel(X, 8, random_state=0, rounds=2).indices.tolist()",
    "assign": "zlib.crc32(kseeds.assign(X, np.array(X[:300])).labels.tobytes())",
}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(ROWS[0], id="short"),
        pytest.param(ROWS[1], id="long", marks=pytest.mark.long),
    ],
)
def files(request, tmp_path_factory):
    folder, rows = tmp_path_factory.mktemp("maps"), request.param
    block = np.random.default_rng(0).integers(0, 200, size=(100_000, COLUMNS))
    found = {}
    for dtype in (np.float32, np.uint8):
        name = np.dtype(dtype).name
        found[name] = str(folder / f"{name}.npy")
        mapped = np.lib.format.open_memmap(
            found[name], mode="w+", dtype=dtype, shape=(rows, COLUMNS)
        )
        for lo in range(0, rows, len(block)):
            mapped[lo : lo + len(block)] = np.roll(block, lo // len(block), axis=1)
        del mapped
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="limits on memory are those of Linux")
@pytest.mark.parametrize("call", CALLS)
def test_half_the_memory_is_enough_for_a_map(files, call):
    script = SCRIPT.format(path=files["float32"], call=CALLS[call])
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    scope = {"kseeds": kseeds, "np": np, "zlib": zlib, "X": np.load(files["float32"])}
    assert done.stdout.strip() == str(eval(CALLS[call], scope)), "a map gives what an array gives"


def test_integers_are_converted_in_a_file(files):
    bytes_ = np.load(files["uint8"], mmap_mode="r")[:200_000]
    floats = np.load(files["float32"], mmap_mode="r")[:200_000]
    found = kseeds.kmeans_plusplus(bytes_, 5, random_state=0)
    assert found.indices.tolist() == (
        kseeds.kmeans_plusplus(np.array(floats), 5, random_state=0).indices.tolist()
    )
    assert found.centers.dtype == np.float32
    slanted = np.load(files["float32"], mmap_mode="r")[:200_000, ::2]
    again = kseeds.kmeans_plusplus(slanted, 5, random_state=0)
    np.testing.assert_array_equal(again.centers, np.array(slanted)[again.indices])


@pytest.mark.parametrize("metric", ["angular", "euclidean"])
def test_prepared_copies_of_maps_are_in_files(tmp_path, metric):
    from kseeds.inputs import prepare_points
    from kseeds.runtime.memmap import is_mapped

    X = np.random.default_rng(0).random((1000, 2)) * 1e-200
    np.save(tmp_path / "X.npy", X)
    mapped = prepare_points(np.load(tmp_path / "X.npy", mmap_mode="r"), metric)
    assert is_mapped(mapped.points)
    np.testing.assert_array_equal(mapped.points, prepare_points(X, metric).points)
    assert not is_mapped(prepare_points(X, metric).points)


def test_a_memory_map_gives_the_seeds_of_an_array(tmp_path):
    X = np.random.default_rng(1).normal(size=(500, 5))
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for algorithm in ("naive", "paper"):
        plain = kseeds.kmeans_plusplus(X, 9, random_state=2, algorithm=algorithm)
        found = kseeds.kmeans_plusplus(mapped, 9, random_state=2, algorithm=algorithm)
        assert found.indices.tolist() == plain.indices.tolist()


@pytest.mark.parametrize("order", ["C", "F", "reversed"])
@pytest.mark.parametrize("given", [np.float32, np.float64, np.int16, bool])
@pytest.mark.parametrize("shape", [(40_000, 30), (300, 40_000), (1_200_000, 1)])
def test_a_copy_by_several_threads_is_the_copy(shape, given, order, monkeypatch):
    from kseeds.runtime import memmap
    from kseeds.runtime.threads import Workers

    rng = np.random.default_rng(0)
    values = rng.integers(0, 2, size=shape).astype(given)
    values = np.asfortranarray(values) if order == "F" else values
    values = values[::-1, ::-1] if order == "reversed" else values
    monkeypatch.setattr(memmap, "_SHARED_BYTES", 1 << 16)
    with Workers(2) as workers:
        copy = memmap.contiguous(values, np.float64, workers)
    assert copy.flags.c_contiguous
    assert copy.dtype == np.float64
    np.testing.assert_array_equal(copy, values)


def test_a_cast_that_loses_something_warns_the_caller():
    from kseeds.runtime.memmap import contiguous
    from kseeds.runtime.threads import Workers

    with Workers(2) as workers, pytest.warns(RuntimeWarning, match="overflow"):
        contiguous(np.full((1 << 20, 1), 1e300), np.float32, workers)
