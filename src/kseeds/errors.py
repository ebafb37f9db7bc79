"""The warnings kseeds may raise; errors are plain ``ValueError`` and ``TypeError``."""


class FewerDistinctPointsWarning(UserWarning):
    """Fewer distinct points than seeds were asked for.

    The remaining seeds are distinct *rows* drawn by weight; they coincide with points
    that are seeds already, so they add nothing to a clustering.
    """
