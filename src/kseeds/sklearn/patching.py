"""Have scikit-learn compute by kseeds: for the process, for a block, and back again."""

from __future__ import annotations

import inspect
import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sklearn
import sklearn.cluster
from sklearn.cluster import _kmeans

from kseeds.sklearn import assigning, replacement

_LOGGER = logging.getLogger("kseeds")

_PRIVATE = ("sklearn.cluster._kmeans", "_kmeans_plusplus")
"""All that draws seeds in scikit-learn looks this one up when it is called."""
_PUBLIC = tuple(
    (module, "kmeans_plusplus")
    for module in ("sklearn.cluster", "sklearn.cluster._kmeans", "sklearn.mixture._base")
)
_LABELS = tuple(
    (module, "_labels_inertia_threadpool_limit")
    for module in ("sklearn.cluster._kmeans", "sklearn.cluster._bisect_k_means")
)
"""What `predict` and `score` look up."""
_FIT = ("sklearn.cluster._kmeans.KMeans", "fit")
"""A method, so that the class is the same wherever it was imported."""
_USERS = (
    "sklearn.cluster.kmeans_plusplus", "sklearn.cluster.k_means", "sklearn.cluster.KMeans",
    "sklearn.cluster.MiniBatchKMeans", "sklearn.cluster.BisectingKMeans",
    "sklearn.mixture.GaussianMixture", "sklearn.mixture.BayesianGaussianMixture",
)  # fmt: skip
"""The public names that use the private functions."""
_FITS = ("sklearn.cluster.k_means", "sklearn.cluster.KMeans")
"""Those that are fitted by kseeds, too."""


class Patched(tuple[str, ...]):
    """The names of scikit-learn that use kseeds now; none if it could not be patched."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self:
            return (
                f"kseeds: scikit-learn {sklearn.__version__} is not patched, as its k-means++ "
                "has changed; upgrade kseeds."
            )
        seeds = f"kseeds draws the k-means++ seeds of {', '.join(self)}"
        fits = [name for name in self if name in _FITS]
        return f"{seeds}, and computes the iterations of {', '.join(fits)}"


class _Patch:
    """The state of the process: who wants the patch, and what stood in its place before."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.is_permanent = False
        self.blocks = 0
        self.originals: dict[tuple[str, str], tuple[Any, Any]] = {}
        """For every name replaced: what was there, and what is there now."""

    @property
    def is_wanted(self) -> bool:
        return self.is_permanent or self.blocks > 0

    def update(self) -> None:
        """Patch or restore, as is wanted; the lock is held."""
        if self.is_wanted and not self.originals:
            self._replace()
        elif not self.is_wanted and self.originals:
            self._restore()

    def _replace(self) -> None:
        theirs, public = _kmeans._kmeans_plusplus, _kmeans.kmeans_plusplus
        labels, fit = _kmeans._labels_inertia_threadpool_limit, _kmeans.KMeans.fit
        if not (
            _takes(theirs, replacement.PARAMETERS)
            and _takes(labels, assigning.PARAMETERS)
            and _takes(fit, replacement.FIT)
        ):
            _LOGGER.warning("%r", Patched())
            return
        stand_ins = {
            _PRIVATE: (theirs, replacement.private(theirs)),
            _FIT: (fit, replacement.fit(fit)),
        }
        ours = replacement.public(public, lambda: bool(self.originals))
        stand_ins |= dict.fromkeys(_PUBLIC, (public, ours))
        stand_ins |= dict.fromkeys(_LABELS, (labels, assigning.labels_inertia(labels)))
        self.originals = stand_ins
        for (module, name), (before, now) in stand_ins.items():
            _exchange(module, name, before, now)
        _LOGGER.info("%r", Patched(_USERS))

    def _restore(self) -> None:
        stand_ins, self.originals = self.originals, {}
        for (module, name), (before, now) in stand_ins.items():
            _exchange(module, name, now, before)
        _LOGGER.info("kseeds: scikit-learn draws its own seeds again")


def _takes(function: Any, names: tuple[str, ...]) -> bool:
    """Tell whether a function of scikit-learn has the parameters that ours has."""
    return tuple(inspect.signature(function).parameters) == names


def _exchange(module: str, name: str, old: Any, new: Any) -> None:
    """Put ``new`` where ``old`` is; leave alone what others have put there since."""
    # A module that is imported later takes the name from one that is here, ours with it.
    holder: Any = sys.modules.get(module)
    if module == _FIT[0]:
        holder = _kmeans.KMeans
    if holder is not None and getattr(holder, name, None) is old:
        setattr(holder, name, new)


_PATCH = _Patch()
if hasattr(os, "register_at_fork"):
    # A child must not inherit a lock that a thread of its parent holds.
    os.register_at_fork(
        before=_PATCH.lock.acquire,
        after_in_parent=_PATCH.lock.release,
        after_in_child=_PATCH.lock.release,
    )


def patch_sklearn() -> Patched:
    """Make scikit-learn fit ``KMeans``, and draw k-means++ seeds, by kseeds in this process.

    ``KMeans``, ``MiniBatchKMeans``, ``BisectingKMeans``, ``k_means``, ``kmeans_plusplus``, and
    mixtures with ``init_params="k-means++"`` draw from the same distribution as before, large
    jobs faster, also where they were imported before. ``KMeans`` and ``k_means`` then iterate as
    `kseeds.kmeans` does, from the same start to the same clusters; see `kseeds.sklearn.KMeans`.
    Few seeds of sparse data, more clusters than rows of positive weight, and negative weights are
    left to scikit-learn; the logger ``kseeds`` says so once, at level INFO.

    Calling it again changes nothing. Other processes have to call it, too.

    Returns
    -------
    Patched
        The names that use kseeds now: a tuple, which prints as a sentence.

    Examples
    --------
    >>> from kseeds.sklearn import patch_sklearn, unpatch_sklearn
    >>> "sklearn.cluster.KMeans" in patch_sklearn()
    True
    >>> unpatch_sklearn()
    """
    with _PATCH.lock:
        _PATCH.is_permanent = True
        _PATCH.update()
        return _now()


def unpatch_sklearn() -> None:
    """Undo `patch_sklearn`; scikit-learn is as it was.

    Within a ``with patched():`` block the patch stays until the end of the block.

    Examples
    --------
    >>> from kseeds.sklearn import unpatch_sklearn
    >>> unpatch_sklearn()  # nothing to undo
    """
    with _PATCH.lock:
        _PATCH.is_permanent = False
        _PATCH.update()


@contextmanager
def patched() -> Iterator[Patched]:
    """Do what `patch_sklearn` does within a block, in all threads.

    Blocks may be nested, and overlap in several threads: the patch ends with the last of them,
    unless `patch_sklearn` was called.

    Yields
    ------
    Patched
        The names that use kseeds now.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import KMeans
    >>> from kseeds.sklearn import patched
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> with patched():
    ...     model = KMeans(5, random_state=0).fit(X)
    """
    with _PATCH.lock:
        _PATCH.blocks += 1
        _PATCH.update()
        names = _now()
    try:
        yield names
    finally:
        with _PATCH.lock:
            _PATCH.blocks -= 1
            _PATCH.update()


def _now() -> Patched:
    return Patched(_USERS) if _PATCH.originals else Patched()
