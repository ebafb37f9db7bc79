"""The hot loops. Importing any of these modules imports the compiler.

Contract: arrays are C-contiguous and made by the caller. What the caller was given (points,
centres, weights) is only read. State that lives on between calls (nearest distances and labels,
bounds, clocks, heaps, orders) is changed in place, and the docstring of the kernel says so; what is
only written is named last. A kernel over rows works on rows ``start`` to ``stop`` of the caller's
blocks; one that computes distances returns how many.
"""
