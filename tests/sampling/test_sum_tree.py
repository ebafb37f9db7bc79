"""The sum tree: plain and compiled draw the same rows from the same bits, few at a time or many."""

from __future__ import annotations

import numpy as np
import pytest

from kseeds.sampling import sum_tree, sum_tree_kernels
from kseeds.sampling.sum_tree import Masses


def masses_of(n, dtype, weighted, seed=0):
    rng = np.random.default_rng(seed)
    bounds = (rng.random(n) ** 4).astype(dtype)
    bounds[rng.random(n) < 0.3] = 0.0
    bounds[n // 2] = 1.0
    weights = rng.random(n) if weighted else np.empty(0)
    return Masses(bounds, weights, sum_tree.new_sums(n))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 640, 5000])
def test_plain_and_compiled_agree_to_the_last_bit(n, dtype, weighted):
    plain = masses_of(n, dtype, weighted)
    sum_tree.sum_rows(plain, 0, n)
    sum_tree.sum_inner(plain.sums)
    compiled = plain._replace(sums=sum_tree.new_sums(n))
    sum_tree_kernels.sum_blocks(compiled, 0, -(-n // 64))
    sum_tree_kernels.sum_inner(compiled.sums)
    np.testing.assert_array_equal(plain.sums[1:], compiled.sums[1:])
    uniforms = np.append(np.random.default_rng(1).random(300), [2.0**-54, 1.0 - 2.0**-53])
    many = sum_tree.draw_rows(plain, uniforms)
    few = [sum_tree.draw_rows(plain, uniforms[i : i + 1])[0] for i in range(len(uniforms))]
    rows, batch = np.empty(len(uniforms), dtype=np.int64), np.zeros((1, 2, len(uniforms)))
    batch[0, 0] = uniforms
    sum_tree_kernels.draw_rows(compiled, batch, 0, 0, np.empty(len(uniforms)), rows)
    assert many.tolist() == few == rows.tolist()
    assert (sum_tree.mass_of(plain, many) > 0.0).all()


def test_parts_of_the_rows_are_summed_like_all():
    whole = masses_of(1000, np.float32, weighted=True)
    sum_tree.sum_rows(whole, 0, 1000)
    sum_tree.sum_inner(whole.sums)
    parts = whole._replace(sums=sum_tree.new_sums(1000))
    for start in range(0, 1000, 192):
        sum_tree.sum_rows(parts, start, min(start + 192, 1000))
    sum_tree.sum_inner(parts.sums)
    np.testing.assert_array_equal(parts.sums, whole.sums)
    blocks = whole._replace(sums=sum_tree.new_sums(1000))
    sum_tree.sum_blocks(blocks, np.arange(16))
    np.testing.assert_array_equal(blocks.sums, whole.sums)
