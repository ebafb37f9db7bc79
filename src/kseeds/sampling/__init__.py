"""Random draws: streams keyed by row, exponential clocks and their queue, the sum tree."""
