"""Vector instructions that the compiler would not find by itself, as functions for kernels.

Without fastmath a compiler may not reorder sums, so it finds few vectors; these are written
out, in LLVM's language, and compiled for the machine at hand. `rows` has functions of rows,
`columns` those of 64 rows or centres that are laid out as columns.
"""
