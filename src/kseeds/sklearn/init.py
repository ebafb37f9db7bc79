"""`Init`: any law of kseeds as the ``init=`` of a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np

from kseeds import api
from kseeds.distances.metrics import METRICS, FloatArray
from kseeds.errors import shown
from kseeds.inputs import check_metric, check_options
from kseeds.inputs.keywords import KEYWORDS
from kseeds.laws import LAWS, Law

_WITHHELD = {
    "X": "the estimator passes the data it is fitted to.",
    "n_clusters": "the estimator passes its own.",
    "random_state": "pass it to the estimator, which passes it on.",
    "sample_weight": (
        "scikit-learn passes no weights to init; with kseeds.sklearn.patch_sklearn(), "
        "init='k-means++' honours those of fit."
    ),
    "initial_centers": (
        "scikit-learn subtracts the mean from X before init is called, so they would lie elsewhere."
    ),
}
"""Keywords of the laws that an init cannot have, and why."""


class Init:
    """Starting centres by a law of kseeds, for ``init=`` of ``KMeans`` and its relatives.

    Unlike ``kseeds.sklearn.patch_sklearn()``, which changes a process, it is a part of the
    estimator: it is cloned, pickled and searched over with it, also in other processes.

    scikit-learn passes no ``sample_weight`` to a callable init. With ``n_init="auto"`` it runs
    ``KMeans`` ten times if init is a callable, and ``MiniBatchKMeans`` three times: pass
    ``n_init=1`` for one run, which is its default for ``"k-means++"``.

    Parameters
    ----------
    law : str, default "greedy k-means++"
        "greedy k-means++" (or "greedy"; what scikit-learn draws by default), "k-means++" or
        "k-means||".
    **parameters
        Keywords of the function that draws from the law, for example ``rounds`` and
        ``oversampling`` of `kseeds.kmeans_parallel`, or ``n_threads``. Names are checked at once,
        values by the first fit.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import KMeans
    >>> from kseeds.sklearn import Init
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = KMeans(5, init=Init("k-means||", rounds=3), n_init=1, random_state=0)
    >>> model.fit(X).cluster_centers_.shape
    (5, 2)
    >>> model.set_params(init__rounds=2).init
    Init('k-means||', rounds=2)
    """

    def __init__(self, law: str = "greedy k-means++", **parameters: Any) -> None:
        _check(law, parameters)
        self.law = law
        self.parameters = parameters

    def __call__(self, X: Any, n_clusters: int, random_state: Any = None) -> FloatArray:
        """Return the starting centres; scikit-learn calls this.

        Parameters
        ----------
        X : array-like, shape (n, d)
            The data.
        n_clusters : int
            How many centres to draw.
        random_state : int, RandomState, Generator, SeedSequence or None
            The random state, as for `kseeds.kmeans_plusplus`.

        Returns
        -------
        ndarray, shape (n_clusters, d)
            Rows of X.
        """
        draw = getattr(api, _law_of(self.law).function)
        seeding = draw(X, n_clusters, random_state=random_state, **self.parameters)
        centers: FloatArray = np.asarray(seeding)  # dense, also of sparse data
        return centers

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the law and its parameters, as scikit-learn's ``clone`` wants them.

        Parameters
        ----------
        deep : bool
            Of no effect: no parameter has parameters.
        """
        return {"law": self.law, **self.parameters}

    def set_params(self, **parameters: Any) -> Init:
        """Change the law or its parameters; those not named stay as they are.

        Parameters
        ----------
        **parameters
            ``law``, and keywords of the law.
        """
        changed = {**self.get_params(), **parameters}
        law = changed.pop("law")
        _check(law, changed)
        self.law, self.parameters = law, changed
        return self

    def __repr__(self) -> str:
        words = [f"{name}={shown(value)}" for name, value in self.parameters.items()]
        return f"Init({', '.join([repr(self.law), *words])})"


def _law_of(name: Any) -> Law:
    """Return the law of a name: that of the law, of its function, or the first word of either."""
    for law in LAWS.values():
        if name in (law.name, law.function, _short(law)):
            return law
    known = ", ".join(repr(law.name) for law in LAWS.values())
    raise ValueError(f"law={shown(name)} is unknown; use one of {known}.")


def _short(law: Law) -> str:
    """Return the adjective that tells a law from the others, or its name if there is none."""
    return law.name.partition(" ")[0]


def _check(name: Any, parameters: dict[str, Any]) -> None:
    law = _law_of(name)
    algorithm = parameters.get("algorithm", "auto")
    for word, value in parameters.items():
        if word in _WITHHELD:
            raise TypeError(f"{word} is not a parameter of Init; {_WITHHELD[word]}")
        if word not in KEYWORDS[law.function]:
            check_options(law.function, algorithm, {word: value}, law.algorithms, law.options_of)
    metric = check_metric(parameters.get("metric", "euclidean"))
    if isinstance(metric, str) and METRICS[metric].embedding is not None:
        raise ValueError(
            f"metric={metric!r} depends on the origin, and scikit-learn subtracts the mean from X "
            "before init is called; draw the centres with kseeds and pass them as init, or scale "
            "the rows to length 1 (sklearn.preprocessing.Normalizer) and leave metric out."
        )
