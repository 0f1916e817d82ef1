"""Slices in dyadic levels: every cell of a window counts once, and few nodes are read."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import log2

from hypothesis import given
from hypothesis import strategies as st

from auroral.engine.slices import Slicing

SIZES = st.integers(1, 60)


@st.composite
def slicings(draw: st.DrawFn) -> tuple[Slicing, int]:
    """A slicing and the bucket that it was made for."""
    size, bucket = draw(SIZES), draw(st.integers(1, 12))
    advance = draw(st.integers(1, size))
    return Slicing.of(size, advance, draw(st.integers(0, advance - 1)), bucket), bucket


RANGES = st.tuples(st.integers(-30, 30), st.integers(1, 12))


def cells_of(node: tuple[int, int]) -> range:
    level, index = node
    return range(index << level, (index + 1) << level)


def filled(slicing: Slicing, lo: int, hi: int) -> dict[tuple[int, int], Counter[int]]:
    """For each target of a job for cells [lo, hi), how often each cell counts in it."""
    counted: dict[tuple[int, int], Counter[int]] = {}
    for node, targets in slicing.history(lo, hi).items():
        for target in targets:
            counted.setdefault(target, Counter()).update(cells_of(node))
    for cell, targets in slicing.targets(lo, hi).items():
        for target in targets:
            counted.setdefault(target, Counter()).update([cell])
    return counted


@given(slicings(), RANGES)
def test_every_window_that_ends_in_the_range_has_each_of_its_cells_once(made, given_range):
    slicing, bucket = made
    first, buckets = given_range
    lo, hi = slicing.cell(first * bucket), slicing.cell((first + buckets) * bucket)
    windows = {index: cells for (level, index), cells in filled(slicing, lo, hi).items() if level == -1}
    ending = [s for s in range(lo - slicing.length, hi) if s % slicing.step == 0 and lo < s + slicing.length <= hi]
    assert sorted(windows) == ending
    for start, cells in windows.items():
        assert cells == Counter(range(start, start + slicing.length))


@given(slicings(), RANGES)
def test_every_node_has_each_of_its_cells_once(made, given_range):
    slicing, bucket = made
    first, buckets = given_range
    lo, hi = slicing.cell(first * bucket), slicing.cell((first + buckets) * bucket)
    nodes = {target: cells for target, cells in filled(slicing, lo, hi).items() if target[0] >= 0}
    for node, cells in nodes.items():
        assert cells == Counter(cells_of(node))
    # All nodes that end in the range, whether or not they begin in it.
    for level in range(slicing.levels + 1):
        ends = {i for i in range((lo >> level) - 1, (hi >> level) + 1) if lo < (i + 1) << level <= hi}
        assert {i for at, i in nodes if at == level} == ends


@given(slicings(), st.lists(st.integers(1, 5), min_size=2, max_size=6), st.integers(-20, 20))
def test_what_a_range_reads_an_earlier_range_has_made(made, lengths, first):
    """Ranges one after the other: all nodes read were stored, but for those before the beginning, which are empty."""
    slicing, bucket = made
    cuts = [first]
    for length in lengths:
        cuts.append(cuts[-1] + length)
    cells = [slicing.cell(cut * bucket) for cut in cuts]
    stored: set[tuple[int, int]] = set()
    for lo, hi in pairwise(cells):
        for node in slicing.history(lo, hi):
            begun_before = node[1] << node[0] < cells[0]
            assert begun_before or node in stored
            assert (node[1] + 1) << node[0] <= lo
        stored |= {target for target in filled(slicing, lo, hi) if target[0] >= 0}


@given(st.integers(1, 200_000), st.integers(-(10**9), 10**9))
def test_a_window_reads_a_logarithmic_number_of_nodes(length, lo):
    slicing = Slicing(1, 0, length, 1)
    window_nodes = [n for n, targets in slicing.history(lo, lo + 1).items() if any(t[0] == -1 for t in targets)]
    assert len(window_nodes) <= 2 * log2(length + 1) + 1
    # Beside the one window that ends here, each level has at most one larger node to complete.
    assert len(slicing.history(lo, lo + 1)) <= 2 * (2 * log2(length + 1) + 1)


@given(slicings(), st.integers(-500, 500))
def test_cells_cut_time_without_gaps(made, stime):
    slicing, bucket = made
    cell = slicing.cell(stime)
    assert slicing.stime(cell) <= stime < slicing.stime(cell + 1)
    assert slicing.stime_of(0, cell) == slicing.stime(cell + 1) - 1
    if slicing.aligned(bucket):
        assert slicing.stime(cell) // bucket == slicing.stime_of(0, cell) // bucket


def test_windows_of_one_cell_read_nothing():
    slicing = Slicing.of(10, 10, 0, 10)
    assert (slicing.length, slicing.step, slicing.levels) == (1, 1, 0)
    assert slicing.history(5, 6) == {}
    assert slicing.targets(5, 6) == {5: [(0, 5), (-1, 5)]}
