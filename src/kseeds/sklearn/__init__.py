"""k-means where scikit-learn's users are: its function, its estimators, and their ``init=``.

Needs ``pip install 'kseeds[sklearn]'``. One line makes scikit-learn use kseeds:

    kseeds.sklearn.patch_sklearn()
"""

try:
    import sklearn as _sklearn  # noqa: F401
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "sklearn":
        raise
    raise ModuleNotFoundError(
        "kseeds.sklearn needs scikit-learn; install it with: pip install 'kseeds[sklearn]'",
        name="sklearn",
    ) from None

from kseeds.sklearn.function import kmeans_plusplus
from kseeds.sklearn.init import Init
from kseeds.sklearn.kmeans import KMeans
from kseeds.sklearn.patching import Patched, patch_sklearn, patched, unpatch_sklearn

__all__ = [
    "Init", "KMeans", "Patched", "kmeans_plusplus", "patch_sklearn", "patched", "unpatch_sklearn",
]  # fmt: skip
