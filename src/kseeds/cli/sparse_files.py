"""Reading and writing of sparse matrices: .npz files of `scipy.sparse.save_npz`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from kseeds.cli.errors import reason

KIND = ".npz"
_PARTS = ("data", "indices", "indptr", "shape")
"""The arrays of a matrix in CSR form, the only ones that are needed."""


def read_sparse(path: Path) -> Any:
    """Return the sparse matrix of a file."""
    from scipy import sparse

    with open(path, "rb") as file:
        if file.read(2) != b"PK":
            raise ValueError(
                f"{path} is not in the .npz format; save a sparse matrix with "
                "scipy.sparse.save_npz."
            )
    try:
        with np.load(path, allow_pickle=False) as archive:
            names = set(archive.files) if hasattr(archive, "files") else set()
            if "format" not in names and names.issuperset(_PARTS):
                data, indices, indptr, shape = (archive[name] for name in _PARTS)
                return sparse.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
        if "format" in names:
            return sparse.load_npz(path)
    except (OSError, MemoryError):
        raise
    except Exception as error:  # a damaged archive fails in any part of the readers
        raise ValueError(
            f"{path} is damaged or no sparse matrix ({reason(error)}); save it again with "
            "scipy.sparse.save_npz."
        ) from error
    raise ValueError(
        f"{path} is an .npz archive without a sparse matrix; save one with scipy.sparse.save_npz, "
        "or an array with np.save."
    )


def write_sparse(file: BinaryIO, matrix: Any) -> None:
    """Write a sparse matrix to an open file."""
    from scipy import sparse

    sparse.save_npz(file, matrix)
