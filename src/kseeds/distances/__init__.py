"""Distances: one record per metric, the reference in NumPy, and the same compiled."""
