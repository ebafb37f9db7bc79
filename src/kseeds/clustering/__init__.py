"""The public function `kmeans`, and what it checks."""

from kseeds.clustering.face import kmeans

__all__ = ["kmeans"]
