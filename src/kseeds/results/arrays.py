"""Results where an array is wanted: that of their centres."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray


class ArrayOfCenters:
    """A result that is the array of its centres where an array is wanted."""

    centers: FloatArray

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        """Return the centres as `numpy.asarray` does in NumPy 2, also in NumPy 1.

        So NumPy, and whoever wants an array of centres, takes a seeding or a clustering.
        """
        centers = self.centers
        if hasattr(centers, "toarray"):  # sparse
            if copy is False:
                raise ValueError(
                    "copy=False is not possible: the centers are sparse; leave it out."
                )
            centers = centers.toarray()
        wanted = centers.dtype if dtype is None else np.dtype(dtype)
        if copy is False and wanted != centers.dtype:
            raise ValueError(
                f"copy={copy} is not possible for dtype={wanted}: the centers are {centers.dtype}; "
                "leave out copy, or ask for their dtype."
            )
        return centers.astype(wanted, copy=bool(copy))
