"""What a distance is: one record a metric, the reference in NumPy, the same compiled."""
