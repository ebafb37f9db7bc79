"""Lists of centres that leaves keep from one iteration to the next, and when they expire.

Let p be how far a centre c has come in all iterations so far, summed up, and q the same for 64 rows
side by side (a tile) of a leaf: in each iteration, the largest step of the centres that they had.
If every row x of the tile once had |x − c| − |x − a| ≥ s, a being its centre, then ever after

    |x − c| − |x − nearest| ≥ s − (p now − p then) − (q now − q then),

since the nearest is no farther than a. So c is of no use to the tile while s + p + q of then, the
*expiry*, exceeds p + q of now; it is not looked at, and neither are the rows if only one centre is
left. A leaf lists the centres that are nearer to its box than ``beyond``. Those that have moved far
are measured by the box, and listed where they have come near; the others have come nearer by no
more than the largest of their steps, which is taken off ``beyond``. While the farthest row of the
leaf is nearer to its centre than that, the list is complete.

Rounding: a distance D is computed as one of [D(1 − ρ) − α, D(1 + ρ) + α] at most, ρ and α being
``relative`` and ``absolute`` of the metric. If D' − D > 4ρD + 2α, then D' is the larger one as
computed, too: for D' ≤ 3D the errors are at most ρ(D + D') + 2α ≤ 4ρD + 2α, and for more they are
less than D' − D, ρ being small. Expiries are rounded down by more than all sums are rounded.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from kseeds.lloyd.sums_kernels import move_values
from kseeds.nearest.forest import Forest
from kseeds.nearest.point_tree_kernels import Batch, LeafTile, Lists
from kseeds.runtime.block_sizes import COLUMNS
from kseeds.runtime.compiler import inlined
from kseeds.simd.columns import box_sums, compare_with_gap
from kseeds.simd.tables import largest_of_lesser

_NEARER = 0.1
"""Share of the squared distance needed up to which centres are near, and compared first."""
_ROUNDED = 3e-7
"""More than the rounding of an expiry, in any precision."""
_NO_LABEL = 2**31 - 1

_box_sums = box_sums()
_compare_with_gap = compare_with_gap()
_largest_of_lesser = largest_of_lesser()


class Owned(NamedTuple):
    """What is known of rows, by their places, and of the tiles that they are in.

    ``labels`` are the centres of rows, and ``owners`` those of tiles whose rows have the same, or
    -1. No row is farther from its nearest centre than ``reached``. ``passed`` is q, as above, and
    ``steps`` its last step.
    """

    labels: Any
    owners: Any
    reached: Any
    passed: Any
    steps: Any


class Kept(NamedTuple):
    """The lists of leaves: how long, with which centres, and complete up to which distance.

    ``expiry[tile, k]`` belongs to ``items[leaf, k]``; lists of length 0 are none.
    """

    lengths: Any
    items: Any
    beyond: Any
    expiry: Any


class Moves(NamedTuple):
    """How far centres have moved: last time, and in all.

    ``fast`` are those that have moved farthest, and ``columns`` their coordinates, infinite up to
    a whole group; the others have moved by ``slow`` at most. ``margin`` is what to add to lists,
    so that they last, and ``keeps`` tells whether any are kept at all. If not, ``slow`` is the
    farthest that any centre has moved.
    """

    moved: Any
    path: Any
    fast: Any
    columns: Any
    slow: float
    margin: float
    keeps: int


class Sums(NamedTuple):
    """Sums of clusters that follow the rows (`kseeds.lloyd.sums`), and the weights of all rows.

    ``rest`` is a workspace of as many values as there are columns, and one.
    """

    sums: Any
    anchors: Any
    weights: Any
    rest: Any


@inlined
def tiles_end(forest: Forest, leaf: int) -> int:
    """Return the tile after those of a leaf."""
    last = forest.first[leaf] + forest.counts[leaf] + COLUMNS - 1
    return last // COLUMNS  # type: ignore[no-any-return]


@inlined
def change(forest: Forest, owned: Owned, s: int, label: Any, sums: Sums) -> int:
    """Give the row at place s, which has another, a label; return 1."""
    d, rest = forest.lower.shape[1], sums.rest
    base, column, former = s // COLUMNS * d, s % COLUMNS, owned.labels[s]
    owned.labels[s] = label
    weight = 1.0
    if sums.weights.shape[0] > 0:
        weight = sums.weights[forest.order[s]]
    for j in range(d):
        rest[j] = np.float64(forest.tiles[base + j, column]) * weight
    rest[d] = weight
    move_values(former, label, sums.anchors, rest, sums.sums)
    return 1


@inlined
def _step_of(owned: Owned, number: int, moved: Any) -> float:
    """Return how far the centres of the rows of a tile have moved at most."""
    owner = owned.owners[number]
    if owner >= 0:
        return moved[owner]  # type: ignore[no-any-return]
    start, most, other = number * COLUMNS, 0.0, 0.0
    for c in range(start, start + COLUMNS, 2):  # two at a time, which do not wait for each other
        one, two = moved[np.uint32(owned.labels[c])], moved[np.uint32(owned.labels[c + 1])]
        most, other = one if one > most else most, two if two > other else other
    return most if most > other else other


@inlined
def follow(owned: Owned, first: int, stop: int, moves: Moves) -> float:
    """Let what is known of some tiles follow the centres; return how far their rows reach."""
    reach, step = 0.0, moves.slow
    for number in range(first, stop):
        if owned.reached[number] < np.inf:
            if moves.keeps == 1:
                step = _step_of(owned, number, moves.moved)
            owned.steps[number] = step
            owned.passed[number] += step
            owned.reached[number] += step
        reach = owned.reached[number] if owned.reached[number] > reach else reach
    return reach


@inlined
def surpassing(reach: float, batch: Batch) -> float:
    """Return the distance from which on centres are farther than ``reach`` as computed, too."""
    return reach * (1.0 + 4.0 * batch.relative) + 2.0 * batch.absolute


@inlined
def limit_of(distance: float, batch: Batch) -> float:
    """Return the square, as computed, beyond which boxes are farther away than a distance."""
    limit = (distance + batch.absolute) * (1.0 + 2.0 * batch.relative)
    return limit * limit


@inlined
def _expiry(ahead: float, c: int, number: int, moves: Moves, owned: Owned) -> float:
    """Return when a centre expires that is farther by ``ahead`` now."""
    so_far = moves.path[c] + owned.passed[number]
    return ahead + so_far - _ROUNDED * (abs(ahead) + so_far)  # type: ignore[no-any-return]


@inlined
def _ahead_of_box(nearest: Any, number: int, batch: Batch, owned: Owned) -> float:
    """Return by how much a centre is farther than what rows have, given its distance to a box."""
    least = math.sqrt(np.float64(nearest)) * (1.0 - batch.relative) - batch.absolute
    return least - owned.reached[number]  # type: ignore[no-any-return]


@inlined
def add_fast(
    forest: Forest, node: int, leaf: int, batch: Batch, moves: Moves, owned: Owned, kept: Kept,
    lists: Lists,
) -> bool:  # fmt: skip
    """List the centres that have come near the box of a leaf; tell whether there was room."""
    limit = limit_of(kept.beyond[leaf], batch)
    nearest, places, items = lists.nearest, lists.places, kept.items[leaf]
    length = kept.lengths[leaf]
    first, stop = forest.first[leaf] // COLUMNS, tiles_end(forest, leaf)
    for low in range(0, moves.columns.shape[1], COLUMNS):
        _box_sums(
            forest.lower, forest.upper, node, moves.columns, 0, low, 0, nearest, lists.farthest
        )
        near = 0
        for k in range(low, low + COLUMNS):
            places[near] = k
            near += nearest[k] <= limit
        for at in range(near):
            k = places[at]
            c, found = moves.fast[k], 0
            for q in range(length):
                found |= items[q] == c
            if found == 0:
                if length == items.shape[0]:
                    return False
                items[length] = c
                for number in range(first, stop):
                    ahead = _ahead_of_box(nearest[k], number, batch, owned)
                    kept.expiry[number, length] = _expiry(ahead, c, number, moves, owned)
                length += 1
    kept.lengths[leaf] = length
    return True


@inlined
def finish_tile(
    forest: Forest, number: int, rows: int, batch: Batch, owned: Owned, sums: Sums, tile: LeafTile
) -> int:
    """Take over the centres found for a tile; return how many rows have changed."""
    start, count, differ, mixed = number * COLUMNS, 0, 0, 0
    most = _largest_of_lesser(tile.squared, tile.squared)
    reached = math.sqrt(np.float64(most)) * (1.0 + batch.relative) + batch.absolute
    owned.reached[number] = reached
    for c in range(COLUMNS):  # mostly nothing differs
        differ |= owned.labels[start + c] ^ tile.labels[c]
        mixed |= tile.labels[0] ^ tile.labels[c]
    owned.owners[number] = tile.labels[0] if mixed == 0 else -1
    if differ != 0:
        for c in range(rows):
            if owned.labels[start + c] != tile.labels[c]:
                count += change(forest, owned, start + c, tile.labels[c], sums)
        for c in range(rows, COLUMNS):
            owned.labels[start + c] = tile.labels[c]
    return count


@inlined
def _begin(tile: LeafTile) -> None:
    """Forget what was found for another tile; ``limits`` are the roots of ``squared`` here."""
    for c in range(COLUMNS):
        tile.squared[c], tile.limits[c], tile.labels[c] = np.inf, np.inf, _NO_LABEL


@inlined
def _set_expiry(
    gap: Any, c: int, number: int, k: int, batch: Batch, moves: Moves, owned: Owned, kept: Kept
) -> None:
    """Note by how much a centre was farther than what each row had, as computed, at least."""
    uncertain = 8.0 * batch.relative * owned.reached[number] + 2.0 * batch.absolute
    ahead = np.float64(gap) * (1.0 - 4.0 * batch.relative) - uncertain
    kept.expiry[number, k] = _expiry(ahead, c, number, moves, owned)


@inlined
def settle_tile(
    forest: Forest, leaf: int, number: int, rows: int, batch: Batch, moves: Moves, owned: Owned,
    kept: Kept, sums: Sums, lists: Lists, tile: LeafTile,
) -> Any:  # fmt: skip
    """Find the nearest centres of a tile among those of its leaf's list that have expired.

    Returns how many rows have changed, and with how many centres they were compared.
    """
    expiry, items = kept.expiry[number], kept.items[leaf]
    now = owned.passed[number]
    before, now = now - owned.steps[number], now + surpassing(owned.reached[number], batch)
    now -= owned.reached[number]
    first, others = lists.places, lists.items[1]
    early, late = 0, 0
    for k in range(kept.lengths[leaf]):
        # The centres of the rows come first, so that others soon turn out to be farther.
        left = expiry[k] - moves.path[items[k]]
        first[early], others[late] = k, k
        early += left <= before
        late += (left <= now) & (left > before)
    if early + late <= 1:
        return 0, 0
    for at in range(late):
        first[early + at] = others[at]
    late += early
    _begin(tile)
    gaps, base = lists.farthest, number * COLUMNS * forest.lower.shape[1]
    for at in range(late):
        c = items[first[at]]
        gaps[at] = _compare_with_gap(
            batch.projected, c, forest.tiles, base, c, tile.squared, tile.labels, tile.limits
        )
    count = finish_tile(forest, number, rows, batch, owned, sums, tile)
    for at in range(late):
        k = first[at]
        _set_expiry(gaps[at], items[k], number, k, batch, moves, owned, kept)
    return count, late


@inlined
def settle_new_tile(
    forest: Forest, leaf: int, number: int, rows: int, best: int, depth: int, batch: Batch,
    moves: Moves, owned: Owned, kept: Kept, sums: Sums, lists: Lists, tile: LeafTile,
) -> Any:  # fmt: skip
    """Find the nearest centres of a tile, and begin the expiries of the list that its leaf keeps.

    ``lists`` has what is left of the centres, and their distances to the box of the leaf; ``best``
    is the most promising one. Returns the same as `settle_tile`.
    """
    length, nearest, picked = lists.lengths[depth], lists.nearest, lists.places
    expiry, items = kept.expiry[number], kept.items[leaf]
    base, compared = number * COLUMNS * forest.lower.shape[1], 0
    stretch = 1.0 + 2.0 * batch.relative
    _begin(tile)
    for k in range(length):
        expiry[k] = np.inf
        if items[k] == best:
            expiry[k] = _compare_with_gap(
                batch.projected, best, forest.tiles, base, best, tile.squared, tile.labels,
                tile.limits,
            )  # fmt: skip
            compared += 1
    limit = limit_of(surpassing(owned.reached[number], batch), batch)
    for share in (_NEARER, 1.0):
        most = np.float64(_largest_of_lesser(tile.squared, tile.squared)) * stretch
        limit = most if most < limit else limit
        high, left = limit * share, 0
        for k in range(length):
            picked[left] = k
            left += (nearest[k] <= high) & (expiry[k] == np.inf)
        for at in range(left):
            k = picked[at]
            if at % 8 == 7:
                most = np.float64(_largest_of_lesser(tile.squared, tile.squared)) * stretch
                limit = most if most < limit else limit
            if nearest[k] <= limit:
                c = items[k]
                expiry[k] = _compare_with_gap(
                    batch.projected, c, forest.tiles, base, c, tile.squared, tile.labels,
                    tile.limits,
                )  # fmt: skip
                compared += 1
    count = finish_tile(forest, number, rows, batch, owned, sums, tile)
    for k in range(length):
        if expiry[k] < np.inf:
            _set_expiry(expiry[k], items[k], number, k, batch, moves, owned, kept)
        else:
            ahead = _ahead_of_box(nearest[k], number, batch, owned)
            expiry[k] = _expiry(ahead, items[k], number, moves, owned)
    return count, compared
