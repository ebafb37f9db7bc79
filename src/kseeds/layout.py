"""Sizes that plain and compiled code must agree on."""

LANES = 16
"""Partial sums of a distance; see `kseeds.distances`."""

COLUMNS = 64
"""Rows or centres that are laid out as columns and compared at a time."""

BLOCK = 64
"""Rows under one leaf of a tree of sums."""
