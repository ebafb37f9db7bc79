"""Timings and counts: ``python -m benchmarks --help``."""
