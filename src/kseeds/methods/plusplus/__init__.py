"""k-means++ (Arthur and Vassilvitskii, SODA 2007), one draw a step.

The law: the first seed is row i with probability w_i / Σw, every further one with
probability w_i·α_i² / Σ w·α², where α_i is the distance to the nearest seed so far.
"""
