"""Threads, forks, spawned processes, Ctrl-C, leaks: each in a process of its own, watched."""

from __future__ import annotations

import functools
import signal

import pytest

from tests.harness import cold_jobs, long_jobs
from tests.harness.isolation import run
from tests.harness.profiles import scaled, sizes

THREADS = """
import random, threading
from tests.harness import everything

names, found, errors = list(everything.JOBS), {{}}, []
start = threading.Barrier(8)

def work(number):
    # Each job is done by some of the threads, every eighth by all, in another order by each.
    mine = [
        name for place, name in enumerate(names)
        if place % 8 == 0 or (place + number) % 8 < {share}
    ]
    order = random.Random(number).sample(mine, len(mine))
    start.wait()
    try:
        for turn in range({turns}):
            for name in order:
                found.setdefault(name, []).append(everything.JOBS[name]())
    except BaseException as error:
        errors.append(error)

threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
if errors: raise errors[0]
for place, name in enumerate(names):
    assert len(found[name]) == (8 if place % 8 == 0 else {share}) * {turns}
    assert all(result == found[name][0] for result in found[name]), name
everything.check({{name: results[0] for name, results in found.items()}})
"""


@sizes("turns", 1, 10)
def test_eight_threads_from_first_use(turns):
    share = 2 if turns == 1 else 8
    run(THREADS.format(turns=turns, share=share), seconds=120 + 30 * turns)


LABELS = """
import threading
import numpy as np
from kseeds import assign, kmeans_parallel, kmeans_plusplus
from tests.harness.everything import WIDE

for function in (kmeans_plusplus, kmeans_parallel):
    for turn in range({turns}):
        seeding = function(WIDE, 300, random_state=turn)
        wanted = assign(WIDE, seeding.centers)
        found, start = [], threading.Barrier(8)

        def read():
            start.wait()
            labels, distances = seeding.labels, seeding.distances
            found.append((labels.copy(), distances.copy(), seeding.potential))

        threads = [threading.Thread(target=read) for _ in range(8)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert len(found) == 8
        for labels, distances, potential in found:
            assert (labels == wanted.labels).all(), f"{{(labels != wanted.labels).sum()}} wrong"
            assert np.allclose(distances, wanted.distances, rtol=1e-5, atol=1e-6)
            assert potential == found[0][2]
"""


@sizes("turns", 10, 300)
def test_eight_threads_read_the_labels_of_one_seeding(turns):
    run(LABELS.format(turns=turns), seconds=60 + turns)


FORK = """
import faulthandler, os, signal, sys, threading, time
from tests.harness import everything

# A watchdog thread does not survive a fork: the parent asks a child that hangs where it is.
faulthandler.register(signal.SIGUSR1, all_threads=True)

wanted = everything.results()
stop = threading.Event()

def busy():
    while not stop.is_set():
        for name in {busy!r}:
            everything.JOBS[name]()

def child():
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            everything.check(wanted)
            code = 0
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    return pid

other = threading.Thread(target=busy)
for turn in range({turns}):
    if turn == {turns} // 2:
        other.start()  # until now the forks were after use, from now on they are during use
    pid = child()
    deadline = time.monotonic() + 60
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGUSR1)
            time.sleep(1)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            stop.set()
            raise SystemExit("the forked child hangs")
        time.sleep(0.01)
    if status:
        stop.set()
        raise SystemExit(f"the forked child failed: {{status}}")
    everything.check(wanted, ["lazy", "assign wide"])
stop.set()
other.join()
"""
WHAT_KEEPS_IT_BUSY = ["lazy", "assign", "assign wide", "rounds", "parallel product"]


@sizes("turns", 2, 60)
def test_fork_after_and_during_use(turns):
    code = FORK.format(busy=WHAT_KEEPS_IT_BUSY, turns=turns)
    run(code, seconds=120 + 10 * turns, flags=("-W", "ignore::DeprecationWarning"))


SPAWN = """
import multiprocessing
from tests.harness import everything
from tests.harness.spawned import result_of

if __name__ == "__main__":
    wanted = everything.results()
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert dict(pool.map(result_of, list(everything.JOBS))) == wanted
"""
JOBLIB = """
import joblib
from tests.harness import everything
from tests.harness.spawned import result_of

wanted = everything.results()
for backend in ("loky", "threading"):
    found = joblib.Parallel(n_jobs=2, backend=backend)(
        joblib.delayed(result_of)(name) for name in everything.JOBS
    )
    assert dict(found) == wanted, backend
"""


@pytest.mark.parametrize(
    "code",
    [pytest.param(SPAWN, id="spawn", marks=pytest.mark.long), pytest.param(JOBLIB, id="joblib")],
)
def test_other_processes(code):
    run(code, seconds=180)


def jobs():
    for name in long_jobs.JOBS:
        marks = () if name in long_jobs.SHORT else (pytest.mark.long,)
        yield pytest.param(name, marks=marks)


@pytest.mark.parametrize("name", list(jobs()))
def test_control_c(name):
    """Back within about a second, no thread left, the next calls right."""
    code = f"""
    import signal
    from tests.harness import long_jobs
    signal.signal(signal.SIGINT, signal.default_int_handler)
    long_jobs.main({name!r})
    """
    run(code, seconds=90)


def cold_jobs_to_interrupt():
    yield pytest.param("assign", 3, 1)
    for name in cold_jobs.JOBS:
        for seed in range(scaled(4)):
            yield pytest.param(name, scaled(6, least=3), seed, marks=pytest.mark.long)


@functools.cache
def answer_of(name):
    """Return the answer of a process that nobody interrupts."""
    code = f"from tests.harness import cold_jobs; print(cold_jobs.digest({name!r}))"
    return run(code, seconds=180).stdout.split()[-1]


@pytest.mark.parametrize(("name", "attempts", "seed"), list(cold_jobs_to_interrupt()))
def test_control_c_while_compiling(name, attempts, seed, seed_offset, tmp_path):
    """KeyboardInterrupt and nothing else, no thread left, the next call right."""
    code = f"""
    import signal
    from tests.harness import cold_jobs
    signal.signal(signal.SIGINT, signal.default_int_handler)
    cold_jobs.main({name!r}, {attempts}, {seed + 2 * seed_offset})
    """
    done = run(code, seconds=180, NUMBA_CACHE_DIR=str(tmp_path))
    *latencies, answer = done.stdout.splitlines()
    assert latencies, "no signal came in time"
    assert answer == answer_of(name)
    assert done.stderr == ""


LEAVING = """
import os, signal
from tests.harness import cold_jobs

signal.signal(signal.SIGINT, signal.default_int_handler)
sender = cold_jobs.Sender({passes}, 0.1)
sender.start()
cold_jobs.digest("plusplus")
"""


@pytest.mark.parametrize(
    "passes", [30, *(pytest.param(n, marks=pytest.mark.long) for n in (0, 1, 100, 200))]
)
def test_leaving_while_compiling(passes, tmp_path):
    """Python ends as after any interrupt, though a thread was compiling."""
    done = run(LEAVING.format(passes=passes), check=False, NUMBA_CACHE_DIR=str(tmp_path))
    assert done.returncode == -signal.SIGINT, done.stderr
    assert done.stderr.rstrip().endswith("\nKeyboardInterrupt")
    assert "ignored" not in done.stderr
    assert done.stderr.count("Traceback") == 1, done.stderr


FORK_WHILE_COMPILING = """
import os
from tests.harness import cold_jobs

forked = []

def fork():
    pid = os.fork()
    if pid == 0:
        found = cold_jobs.digest("assign")
        os._exit(0 if found == {wanted!r} else 1)
    forked.append(os.waitpid(pid, 0)[1])

class Moment(cold_jobs.Sender):
    def _send(self):
        self._now.wait()
        fork()

moment = Moment(30, 0.0)
moment.start()
assert cold_jobs.digest("assign") == {wanted!r}
moment.call_off()
assert forked == [0], forked
"""


def test_fork_while_compiling(tmp_path):
    """The child, which has no thread that compiles, can compile."""
    run(
        FORK_WHILE_COMPILING.format(wanted=answer_of("assign")),
        flags=("-W", "ignore::DeprecationWarning"),
        NUMBA_CACHE_DIR=str(tmp_path),
    )


NESTED = """
from kseeds import kmeans_plusplus
from tests.harness import everything

wanted = everything.results()
def progress(done, total):
    if done == total:
        everything.check(wanted, ["lazy", "assign wide", "rounds"])
kmeans_plusplus(everything.FEW, 5, progress=progress)
"""


def test_a_callback_that_calls_kseeds_itself():
    run(NESTED)


LEAKS = """
import _thread, gc, os, time
from kseeds.runtime import threads
from tests.harness import everything

threads._IDLE_SECONDS = 0.1  # for which threads stay
quick = [name for name in everything.JOBS if name not in {slow!r}]
wanted = everything.results()

def state():
    gc.collect()
    time.sleep(0.3)  # until threads have left
    files = len(os.listdir("/proc/self/fd"))
    with open("/proc/self/statm") as file:
        memory = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return files, _thread._count(), memory

def after(calls):
    done = 0
    while done < calls:
        everything.check(wanted, quick)
        done += len(quick)
    return state()

files, threads, memory = after({warm})
grown = []
for window in range({windows}):
    more_files, more_threads, more_memory = after({calls} // {windows})
    grown.append((more_memory - memory) / 2**20)
    memory = more_memory
assert more_files == files, f"{{more_files - files}} files were left open"
assert more_threads == threads, f"{{more_threads - threads}} threads were left"
assert min(grown) < {megabytes} / {windows}, f"memory grew by {{grown}} MB"
print(grown)
"""
SLOW = ["parallel paper", "parallel plain", "manhattan", "parallel vantage", "parallel sketch"]


@sizes("calls", 300, 10_000)
def test_nothing_is_left_behind(calls):
    """A leak of a kilobyte per call would show after ten thousand.

    What leaks grows all the time: in every window of the calls. Kernels are loaded once, when jobs
    in NumPy have taken long enough, and an allocator takes its arenas when threads happen to meet.
    """
    run(
        LEAKS.format(slow=SLOW, warm=max(100, calls // 10), calls=calls, windows=4, megabytes=2),
        seconds=900,
    )
