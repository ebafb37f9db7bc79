"""k-means|| (Bahmani, Moseley, Vattani, Kumar, Vassilvitskii, VLDB 2012).

The law: after a first candidate drawn by weight, every round makes row i a candidate with
probability min(1, ℓ·w_i·α_i² / Σ w·α²), independently of all other rows. Candidates are
weighted by the rows nearest to them and reduced to k by weighted k-means++, or by its greedy form.
"""
