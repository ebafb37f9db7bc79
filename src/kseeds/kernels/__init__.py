"""The hot loops. Importing any of these modules imports the compiler.

Contract: C-contiguous arrays, inputs read-only, outputs made by the caller and named last,
rows ``start`` to ``stop`` of the caller's blocks, and the number of distances computed as
the return value.
"""
