"""The warnings of kseeds; its errors are those of Python, such as ``ValueError``."""


class FewerDistinctPointsWarning(UserWarning):
    """Fewer distinct points than seeds were asked for.

    The remaining seeds are distinct *rows* drawn by weight; they coincide with points
    that are seeds already, so they add nothing to a clustering.
    """
