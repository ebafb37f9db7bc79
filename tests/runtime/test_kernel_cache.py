"""Kernels on disk: never stale, never half written, never another's; and no compiler to look."""

from __future__ import annotations

import os
import shutil
import time
from importlib.metadata import version
from pathlib import Path

import pytest

from kseeds.runtime import kernel_cache
from tests.harness.isolation import ROOT, run
from tests.harness.profiles import sizes

DAY = 24 * 3600.0
COMPILED = {"NUMBA_DISABLE_JIT": "0", "KSEEDS_CACHE": None}
CACHED = (kernel_cache.folder, kernel_cache._places)

SUM = """
import numpy as np
from kseeds.sampling.sum_tree_kernels import sum_inner
def summed(dtype):
    sums = np.arange(8).astype(dtype)
    sum_inner(sums)
    return [sums.dtype.name, *map(float, sums), sum(sum_inner.stats.cache_hits.values())]
"""
"""The smallest kernel, its answer, and how often it was loaded rather than compiled."""
RIGHT = [0.0, 22.0, 9.0, 13.0, 4.0, 5.0, 6.0, 7.0]


def summed(cache: Path | None, **options) -> list:
    variables = COMPILED | {"NUMBA_CACHE_DIR": cache and str(cache)}
    done = run(SUM + "print(summed('float64'))", **(variables | options))
    assert done.stderr == ""
    name, *answer, hits = eval(done.stdout)
    assert (name, answer) == ("float64", RIGHT)
    return hits


def kept(cache: Path) -> list[Path]:
    return sorted(cache.rglob("*.nbc"))


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A cache of this process, which is empty."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("KSEEDS_CACHE", raising=False)
    for function in CACHED:
        function.cache_clear()
    yield tmp_path / "cache" / "kseeds"
    for function in CACHED:
        function.cache_clear()


@pytest.fixture
def copy(tmp_path):
    """The folder of a copy of the package."""
    where = tmp_path / "copy"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "kseeds", where / "kseeds", ignore=ignored)
    return where


def key_of(where: Path, **variables) -> str:
    code = "from kseeds.runtime import kernel_cache; print(kernel_cache.key())"
    return run(code, paths=(str(where),), cwd=where, **variables).stdout


# The key


def test_sources_are_told_apart_by_their_contents(copy):
    """Not by their times or sizes, which an upgrade may keep; nor by where they are."""
    before = key_of(copy)
    assert before == key_of(ROOT / "src")
    source = copy / "kseeds" / "runtime" / "block_sizes.py"
    times = source.stat().st_atime_ns, source.stat().st_mtime_ns
    text = source.read_text()
    source.write_text(text.replace(".", ",", 1))
    os.utime(source, ns=times)
    assert key_of(copy) != before
    source.write_text(text)
    assert key_of(copy) == before
    (copy / "kseeds" / "new.py").touch()
    assert key_of(copy) != before


@pytest.mark.parametrize("package", ["numba", "llvmlite", "numpy"])
def test_versions_of_other_packages_are_told_apart(copy, package, monkeypatch):
    monkeypatch.setattr(kernel_cache, "_folders_of", lambda name: [str(copy / name)])
    for name in ("numba", "llvmlite", "numpy"):
        (copy / name).mkdir()
        (copy / name / "_version.py").write_text("1.0")
    before = kernel_cache.key.__wrapped__()
    (copy / package / "_version.py").write_text("1.1")
    assert kernel_cache.key.__wrapped__() != before


def test_the_versions_are_where_they_are_looked_for():
    for package in ("numba", "llvmlite", "numpy"):
        (folder,) = kernel_cache._folders_of(package)
        texts = [Path(folder, name) for name in ("_version.py", "version.py")]
        wanted = version(package)
        assert any(wanted in path.read_text() for path in texts if path.exists()), package


def test_processors_and_settings_are_told_apart(monkeypatch):
    before = kernel_cache.key.__wrapped__()
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "7")
    assert kernel_cache.key.__wrapped__() != before
    monkeypatch.undo()
    assert kernel_cache.key.__wrapped__() == before
    monkeypatch.setattr(kernel_cache, "_processor", lambda: iter(["flags: odd"]))
    assert kernel_cache.key.__wrapped__() != before


def test_looking_does_not_import_the_compiler_or_make_folders(tmp_path):
    code = """
    import sys
    from kseeds.runtime import kernel_cache
    assert not kernel_cache.is_cached("all")
    print({"numba", "llvmlite"} & set(sys.modules))
    """
    done = run(code, NUMBA_CACHE_DIR=str(tmp_path), KSEEDS_CACHE=None)
    assert done.stdout.strip() == "set()"
    assert not list(tmp_path.iterdir())


# Where kernels are kept


def test_the_folder_is_inside_that_of_numba(place):
    assert kernel_cache.folder() == place / kernel_cache.key()
    assert kernel_cache.folder().is_dir()


def test_kept_for_another_user_who_cannot_write(copy, tmp_path):
    """An image has kernels beside the package; what it lacks goes to the user's own folder."""
    options = {"paths": (str(copy),), "cwd": tmp_path, "obedient": True}
    home = tmp_path / "home"
    variables = {"HOME": str(home), "XDG_CACHE_HOME": None}
    home.mkdir()
    assert summed(None, **options, **variables) == 0
    (file,) = kept(copy)
    assert file.parents[1] == copy / "kseeds" / "__pycache__" / "kernels"
    folders = [copy, *(path for path in copy.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        assert summed(None, **options, **variables) == 1
        assert not kept(home)
        file.parent.chmod(0o755)
        file.unlink()
        file.parent.chmod(0o555)
        assert [summed(None, **options, **variables) for _ in range(2)] == [0, 1]
        (mine,) = kept(home / ".cache" / "kseeds")
        assert mine.name == file.name
        mine.unlink()
        other = tmp_path / "xdg"
        summed(None, **options, **(variables | {"XDG_CACHE_HOME": str(other)}))
        assert kept(other / "kseeds")
    finally:
        for folder in folders:
            folder.chmod(0o755)


def test_where_nothing_can_be_written(tmp_path):
    """No folder, no note, no file, no error."""
    code = """
    from kseeds.runtime import kernel_cache
    kernel_cache.note_cached("all")
    kernel_cache.save("file", "key", b"data")
    print(kernel_cache.folder(), kernel_cache.is_cached("all"), kernel_cache.load("file", "key"))
    """
    tmp_path.chmod(0o555)
    try:
        cache = str(tmp_path / "cache")
        done = run(code, obedient=True, NUMBA_CACHE_DIR=cache, KSEEDS_CACHE=None)
        assert summed(tmp_path / "cache", obedient=True) == 0
    finally:
        tmp_path.chmod(0o755)
    assert done.stdout.split() == ["None", "False", "None"]


def test_turned_off(place, monkeypatch):
    monkeypatch.setenv("KSEEDS_CACHE", "0")
    assert kernel_cache.folder() is None
    kernel_cache.note_cached("all")
    assert not kernel_cache.is_cached("all")
    assert not place.exists()
    assert summed(place, KSEEDS_CACHE="0") == 0
    assert not place.exists()


# What is kept


def test_notes(place):
    assert not kernel_cache.is_cached("gemm-float32")
    kernel_cache.note_cached("gemm-float32")
    assert kernel_cache.is_cached("gemm-float32")
    assert not kernel_cache.is_cached("gemm-float64")
    assert (place / kernel_cache.key() / "gemm-float32.ready").is_file()


def test_files_are_bound_to_their_keys(place):
    kernel_cache.save("file", "key", b"data")
    assert kernel_cache.load("file", "key") == b"data"
    assert kernel_cache.load("file", "another key") is None
    assert kernel_cache.load("another file", "key") is None
    folder = kernel_cache.folder()
    shutil.copy(folder / "file", folder / "another file")
    assert kernel_cache.load("another file", "another key") is None


def test_nothing_is_left_of_a_write_that_fails(place, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    kernel_cache.save("file", "key", b"data")
    assert [path.name for path in kernel_cache.folder().iterdir()] == ["used"]


def test_old_folders_of_other_versions_are_removed(place):
    now = time.time()
    ages = {"a" * 32: 31, "b" * 32: 29, "notes": 99}
    for name, days in ages.items():
        (place / name).mkdir(parents=True)
        (place / name / "used").touch()
        os.utime(place / name / "used", (now - days * DAY,) * 2)
    (place / ("c" * 32)).mkdir()  # without a stamp: its own age counts
    os.utime(place / ("c" * 32), (now - 31 * DAY,) * 2)
    (place / ("d" * 32)).touch()
    os.utime(place / ("d" * 32), (now - 31 * DAY,) * 2)
    kernel_cache.folder()
    left = {path.name for path in place.iterdir()}
    assert left == {kernel_cache.key(), "b" * 32, "d" * 32, "notes"}


def test_use_keeps_a_folder_young(place):
    stamp = kernel_cache.folder() / "used"
    os.utime(stamp, (0, 0))
    kernel_cache.folder.cache_clear()
    kernel_cache.folder()
    assert time.time() - stamp.stat().st_mtime < DAY


def spoilt(content: bytes) -> dict[str, bytes]:
    middle = len(content) // 2
    return {
        "empty": b"",
        "short": content[:10],
        "truncated": content[:middle],
        "garbage": bytes(range(256)) * 20,
        "a bit": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
        "longer": content + b"\0",
    }


def test_damaged_files_are_not_read(place):
    kernel_cache.save("file", "key", b"data" * 1000)
    file = kernel_cache.folder() / "file"
    for damage, content in spoilt(file.read_bytes()).items():
        file.write_bytes(content)
        assert kernel_cache.load("file", "key") is None, damage


@sizes("damages", ["truncated"], ["empty", "truncated", "garbage", "a bit"])
def test_damaged_kernels_are_compiled_again(tmp_path, damages):
    assert summed(tmp_path) == 0
    (file,) = kept(tmp_path)
    content = file.read_bytes()
    for damage in damages:
        file.write_bytes(spoilt(content)[damage])
        assert [summed(tmp_path) for _ in range(2)] == [0, 1]
    assert kept(tmp_path) == [file]


NONSENSE = """
import pickle
from kseeds.runtime import kernel_cache
kernel_cache.load = lambda name, key: pickle.dumps(("nonsense",))
"""


def test_kernels_that_cannot_be_rebuilt_are_compiled_again(tmp_path):
    """A whole file of another meaning, as a Numba built from its sources might have kept."""
    code = NONSENSE + SUM + "print(summed('float64'))"
    done = run(code, NUMBA_CACHE_DIR=str(tmp_path), **COMPILED)
    assert eval(done.stdout) == ["float64", *RIGHT, 0]


# Several processes at once, and upgrades


AT_ONCE = """
import multiprocessing, os, shutil, sys
from kseeds.runtime import compiler, kernel_cache
{sum}
fork = multiprocessing.get_context("fork")

def compile(dtype, together):
    save = kernel_cache.save
    def saved(*arguments):
        together.wait(60)
        save(*arguments)
    kernel_cache.save = saved
    sys.exit(summed(dtype) != [dtype, *{right}, 0])

def load():
    found = [summed(dtype) for dtype in ("float32", "float64")]
    assert found == [["float32", *{right}, 1], ["float64", *{right}, 2]], found

def ended(processes):
    for process in processes: process.start()
    for process in processes: process.join()
    assert [process.exitcode for process in processes] == [0] * len(processes)

for turn in range({turns}):
    both = fork.Barrier(2)
    ended([fork.Process(target=compile, args=(dtype, both)) for dtype in ("float32", "float64")])
    ended([fork.Process(target=load)])
    for name in os.listdir(kernel_cache.folder()):
        (kernel_cache.folder() / name).unlink()
"""


@sizes("turns", 1, 30)
def test_two_processes_compile_two_versions_at_once(turns, tmp_path):
    """Both are kept, and neither is taken for the other."""
    code = AT_ONCE.format(sum=SUM, right=RIGHT, turns=turns)
    run(code, NUMBA_CACHE_DIR=str(tmp_path), **COMPILED)


WRITING = """
import os, sys
from kseeds.runtime import kernel_cache
data = [bytes([n]) * 300_000 for n in range(2)]
kernel_cache.save("file", "key", data[0])
children = []
for n in range(2):
    children.append(os.fork())
    if not children[-1]:
        for _ in range({turns}):
            kernel_cache.save("file", "key", data[n])
        os._exit(0)
for _ in range({turns}):
    assert kernel_cache.load("file", "key") in data
assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
assert sorted(os.listdir(kernel_cache.folder())) == ["file", "used"]
"""


@sizes("turns", 300, 3000)
def test_a_file_is_whole_while_others_write_it(turns, tmp_path):
    run(WRITING.format(turns=turns), NUMBA_CACHE_DIR=str(tmp_path), KSEEDS_CACHE=None)


def test_a_process_that_is_upgraded_while_it_runs(copy, tmp_path):
    """It may have imported modules of either version: it keeps nothing and reads nothing."""
    code = """
    import os
    from kseeds.runtime import kernel_cache
    kernel_cache.save("file", "key", b"data")
    kernel_cache.note_cached("all")
    print(kernel_cache.load("file", "key"), kernel_cache.is_cached("all"))
    import kseeds.errors
    source = kseeds.errors.__file__
    times = os.stat(source).st_atime_ns, os.stat(source).st_mtime_ns
    os.replace(source, source + ".old")
    with open(source + ".old") as old, open(source, "w") as new:
        new.write(old.read())
    os.utime(source, ns=times)
    kernel_cache.save("file", "key", b"other")
    kernel_cache.note_cached("more")
    print(kernel_cache.load("file", "key"), kernel_cache.is_cached("all"))
    print(sorted(os.listdir(kernel_cache.folder())))
    """
    done = run(
        code, paths=(str(copy),), cwd=tmp_path, NUMBA_CACHE_DIR=str(tmp_path), KSEEDS_CACHE=None
    )
    assert done.stdout.splitlines() == [
        "b'data' True", "None False", "['all.ready', 'file', 'used']",
    ]  # fmt: skip


def test_only_kernels_of_the_package_are_kept(tmp_path):
    """Others have sources that the name of the folder knows nothing of."""
    (tmp_path / "theirs.py").write_text("def one():\n    return 1\n")
    code = """
    import theirs
    from kseeds.runtime.compiler import caller, inlined, kernel
    print(kernel(theirs.one)(), inlined(theirs.one)(), caller(theirs.one)())
    """
    cache = tmp_path / "cache"
    paths = (str(tmp_path), str(ROOT / "src"))
    done = run(code, paths=paths, **(COMPILED | {"NUMBA_CACHE_DIR": str(cache)}))
    assert done.stdout.split() == ["1", "1", "1"]
    assert not kept(cache)
