"""Timings and counts: python -m benchmarks.seeding, python -m benchmarks.calibrate."""
