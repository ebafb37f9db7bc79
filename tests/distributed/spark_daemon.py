"""What Spark forks its Python processes from: PySpark's own, after imports that take long.

A task that fails takes its process with it, and many tests are about tasks that fail. kseeds is
not imported here: that it can be, or cannot, is for each process to find out.
"""

from __future__ import annotations

import gc

import numba  # noqa: F401
import pandas  # noqa: F401
import pyarrow  # noqa: F401
from pyspark.daemon import manager

if __name__ == "__main__":
    gc.freeze()  # PySpark collects garbage after every task, among all that was imported
    manager()
