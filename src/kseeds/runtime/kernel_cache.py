"""Where compiled kernels are kept, and what is kept there already; known without the compiler.

Kernels are kept in a folder whose name is made of all that their machine code depends on: the
sources of kseeds, Python, the versions of the compiler and of NumPy, and the processor. Another
version finds another folder, so nothing stale is read after an upgrade. A process whose sources
were replaced while it ran keeps nothing and reads nothing: what it has imported may be of either
version.

Every file is written under another name and then renamed, is bound to its key by a checksum, and
is never changed afterwards. So several processes need no lock, and what is damaged is not there.

Files are kept in ``NUMBA_CACHE_DIR`` if it is set. Otherwise they are kept beside the package, or
where that cannot be written, in the user's folder of caches, and looked for in both: an image may
have kernels in a package that its user cannot write. ``KSEEDS_CACHE=0`` turns all this off.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

PACKAGE = os.path.dirname(os.path.dirname(__file__))
_STAMP = "used"
_UNUSED = 30 * 24 * 3600.0
"""Seconds after which the folder of another version is removed."""
_DIGEST = 32
_STARTED = time.time_ns()

# Variables that change the code that Numba makes, and lines that tell processors apart.
_VARIABLES = ("BOUNDSCHECK", "CPU_FEATURES", "CPU_NAME", "DEBUGINFO", "DISABLE_JIT", "ENABLE_AVX",
              "LOOP_VECTORIZE", "OPT", "SLP_VECTORIZE")  # fmt: skip
_PROCESSOR = ("vendor_id", "cpu family", "model", "flags",
              "CPU implementer", "CPU part", "Features")  # fmt: skip


@functools.cache
def folder() -> Path | None:
    """Return the folder to keep kernels in, made if need be, or None if there is none."""
    for place in _places():
        try:
            new = not place.is_dir()
            place.mkdir(parents=True, exist_ok=True)
            if os.access(place, os.W_OK):
                (place / _STAMP).touch()
                if new:
                    clean()
                return place
        except OSError:
            continue
    return None


def is_cached(name: str) -> bool:
    """Tell whether a set of kernels was noted to be kept; makes no folder."""
    return _unchanged() and any((place / f"{name}.ready").is_file() for place in _places())


def note_cached(name: str) -> None:
    """Note that a set of kernels is kept, if it can be noted."""
    place = folder()
    if place is not None and _unchanged():
        with contextlib.suppress(OSError):
            (place / f"{name}.ready").touch()


def load(name: str, key: str) -> bytes | None:
    """Return what was kept for ``key`` in a file of that name, if it is there and whole."""
    if not _unchanged():
        return None
    for place in _places():
        try:
            content = (place / name).read_bytes()
        except OSError:
            continue
        data = content[_DIGEST:]
        if content[:_DIGEST] == _checksum(key, data):
            return data
    return None


def save(name: str, key: str, data: bytes) -> None:
    """Keep data for ``key`` in a file of that name, if it can be kept."""
    place = folder()
    if place is None or not _unchanged():
        return
    unfinished = place / f"{name}.{os.getpid()}-{time.monotonic_ns()}.tmp"
    try:
        unfinished.write_bytes(_checksum(key, data) + data)
        os.replace(unfinished, place / name)
    except BaseException as error:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise


def clean() -> None:
    """Remove the folders of other versions that have not been used for a month."""
    import shutil

    for place in _places():
        try:
            others = [other for other in place.parent.iterdir() if other.name != place.name]
        except OSError:
            continue
        for other in others:
            try:
                if (
                    re.fullmatch(r"[0-9a-f]{32}", other.name)
                    and time.time() - _used(other) > _UNUSED
                ):
                    shutil.rmtree(other, ignore_errors=True)
            except OSError:
                continue


def _used(place: Path) -> float:
    stamp = place / _STAMP
    return (stamp if stamp.exists() else place).stat().st_mtime


def _checksum(key: str, data: bytes) -> bytes:
    return hashlib.blake2b(
        data, key=hashlib.blake2b(key.encode()).digest(), digest_size=_DIGEST
    ).digest()


@functools.cache
def _places() -> tuple[Path, ...]:
    """Return the folders where kernels may be, that to write to first; none if there is no key."""
    if os.environ.get("KSEEDS_CACHE", "1") == "0":
        return ()
    if os.environ.get("NUMBA_CACHE_DIR"):
        roots = [Path(os.path.abspath(os.environ["NUMBA_CACHE_DIR"]), "kseeds")]
    else:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        roots = [Path(PACKAGE, "__pycache__", "kernels"), Path(os.path.abspath(home), "kseeds")]
    try:
        name = key()
    except (OSError, ValueError, ImportError):  # then nothing would tell versions apart
        return ()
    return tuple(root / name for root in roots)


@functools.cache
def key() -> str:
    """Return a name for all that the machine code of kernels depends on."""
    import platform

    # Python's own library of versions takes fifty times as long as reading these files.
    versions = [
        os.path.join(place, name)
        for package in ("numba", "llvmlite", "numpy")
        for place in _folders_of(package)
        for name in ("_version.py", "version.py", "__init__.py")
    ]
    parts = [sys.version, platform.machine(), *_processor()]
    parts += [f"{name}={os.environ.get('NUMBA_' + name)}" for name in _VARIABLES]
    found = hashlib.blake2b(repr(parts).encode(), digest_size=16)
    for path in [*_sources(), *filter(os.path.isfile, versions)]:
        with open(path, "rb", buffering=0) as file:
            content = file.readall()
        found.update(f"\0{path.removeprefix(PACKAGE)} {len(content)}\0".encode())
        found.update(content)
    return found.hexdigest()


def _folders_of(package: str) -> list[str]:
    """Return where a package is, which is not imported for it."""
    spec = importlib.util.find_spec(package)
    return list(spec.submodule_search_locations or ()) if spec else []


def _processor() -> Iterator[str]:
    """Yield what Linux says of the first processor; Numba's own key has it on other systems."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            for line in file:
                if not line.strip():
                    return
                if line.partition(":")[0].strip() in _PROCESSOR:
                    yield line
    except OSError:
        return


@functools.cache
def _sources() -> tuple[str, ...]:
    """Return all files of the package, or the archive it is imported from."""
    archive = getattr(__spec__.loader, "archive", None)
    return (archive,) if archive else tuple(_files(PACKAGE))


def _files(place: str) -> Iterator[str]:
    with os.scandir(place) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield from _files(entry.path)
        elif entry.name.endswith((".py", ".pyc")):
            yield entry.path


def _unchanged() -> bool:
    """Tell whether the sources are still those that this process has imported.

    The time at which the contents or the attributes of a file were changed last cannot be set, as
    that of its contents can; installers do.
    """
    try:
        return all(os.stat(path).st_ctime_ns <= _STARTED for path in _sources())
    except OSError:
        return False
