"""The fuzz harness: it looks for the next wrong answer before a user meets it.

What is where
-------------
``catalogue``
    Every algorithm, tier, strategy and option, read from the code, so that a new one is tested
    from the day it is registered.
``oracle``
    Plain, independent answers in extended precision or in fractions, and the set of answers that
    are admissible where two centres are within rounding of each other.
``strategies``
    Hypothesis strategies for data: contents, dtypes, memory layouts, containers, weights.
``checks``
    What must be true of any call: a right answer or one clear error, no warning but a true one,
    and nothing of the caller's changed.
``everything``
    One small job for every public function, with results that can be compared.
``isolation``
    Python in a process of its own, with a watchdog.
``long_jobs``, ``cold_jobs``
    Jobs to be interrupted: while they compute, and while their kernels are compiled.
``faults``
    Exceptions raised at chosen calls inside kseeds, and what must not be left behind.
``golden``
    Indices that must never change; ``python -m tests.harness.golden`` prints the table.

Profiles
--------
The short profile is part of the normal suite and is the same in every run. The long one is
``pytest -m long tests/harness``: at least 20 000 generated cases and 100 injected faults.
``--seed-offset N`` makes either one look at other cases, and ``--scale S`` at S times as many. Both
end with their counts.
"""
