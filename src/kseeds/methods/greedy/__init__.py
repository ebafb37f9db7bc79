"""Greedy k-means++ (Arthur and Vassilvitskii, SODA 2007, §7), several draws a step.

The law: the first seed is row i with probability w_i / Σw. Every further step draws L candidates,
independently and with repetition, each of them row i with probability w_i·α_i² / Σ w·α², where
α_i is the distance to the nearest seed so far. The candidate c that lowers the potential most,
whose gain G(c) = Σ w_i·max(0, α_i² − d(x_i, c)²) is the largest, becomes a seed; of equal ones
(see `rule`) the one drawn first. With initial centres every seed is such a step.
"""
