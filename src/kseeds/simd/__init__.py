"""Explicit vector instructions, as functions that kernels call.

Without fastmath a compiler may not reorder sums, so it vectorises few of them. These are written
in LLVM IR and compiled for the machine at hand: `rows` has sums over rows, `columns` distances to
64 points that are stored as columns. `interpreted` has the same in NumPy.
"""
