"""Slices of time in dyadic levels: which partial aggregates exist, and which ones a range of windows reads.

Time is cut into cells of `unit` microseconds. A node (level, index) covers cells [index << level, (index + 1) << level); its
state is that of its rows. A job for cells [lo, hi) makes the nodes inside that range, and with stored ones completes those that
straddle `lo`. A window is put together from the largest nodes inside it that do not straddle `lo`: O(log n) of them; or, where
that is possible, from the window before it (see `running`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd


@dataclass(frozen=True, slots=True)
class Slicing:
    """Windows of `length` cells starting at every `step`-th cell; cell c is [c * unit + phase, ... + unit) of stime."""

    unit: int
    phase: int
    length: int
    step: int

    @staticmethod
    def of(size: int, advance: int, phase: int, bucket: int) -> Slicing:
        unit = gcd(size, advance, bucket)
        return Slicing(unit, phase, size // unit, advance // unit)

    @property
    def levels(self) -> int:
        """The highest level of which a node fits into a window."""
        return self.length.bit_length() - 1

    @property
    def overlapping(self) -> bool:
        """Whether a window shares most of its cells with the one before."""
        return 4 * self.step <= self.length

    def aligned(self, bucket: int) -> bool:
        """Whether no cell lies in two buckets."""
        return self.phase % self.unit == 0 and bucket % self.unit == 0

    def cell(self, stime: int) -> int:
        return (stime - self.phase) // self.unit

    def cells(self, lo: int, hi: int) -> int:
        """How many cells begin in [lo, hi) of stime."""
        return self.cell(hi) - self.cell(lo)

    def fan_out(self, lo: int, hi: int) -> int:
        """How much a cell of [lo, hi) counts in, at most: windows, and nodes of all levels."""
        return self.reaching_back(lo, hi) + self.levels + 2

    def reaching_back(self, lo: int, hi: int) -> int:
        """How many windows that end in [lo, hi) of stime may have begun before it."""
        return min(self.cells(lo, hi), self.length) // self.step

    def stime(self, cell: int) -> int:
        return cell * self.unit + self.phase

    def history(self, lo: int, hi: int, windows: bool = True) -> dict[tuple[int, int], list[tuple[int, int]]]:
        """The stored nodes that a job for cells [lo, hi) reads, each with its targets: windows (-1, start) and larger nodes."""
        nodes: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for start in self.windows(lo, min(hi, lo + self.length - 1)) if windows else ():
            for node in self._cover(start, min(lo, start + self.length)):
                nodes.setdefault(node, []).append((-1, start))
        for level, index in self._straddling(lo, hi):
            for node in self._cover(index << level, lo):
                nodes.setdefault(node, []).append((level, index))
        return nodes

    def targets(self, lo: int, hi: int) -> dict[int, list[tuple[int, int]]]:
        """For each cell of a small range, begun ones included, what it counts in."""
        return {cell: self.targets_of(cell, lo, hi) for cell in range(lo, hi)}

    def targets_of(self, cell: int, lo: int, hi: int) -> list[tuple[int, int]]:
        """What a cell of the range counts in: all nodes that hold it, and all windows, that end in the range."""
        nodes = ((level, cell >> level) for level in range(self.levels + 1))
        windows = self.windows(max(lo, cell), min(hi, cell + self.length))
        return [*((level, i) for level, i in nodes if (i + 1) << level <= hi), *((-1, start) for start in windows)]

    def successor(self, lo: int, hi: int) -> int | None:
        """The start of the only window that ends in (lo, hi], where it is worth while to go on from the one before."""
        starts = self.windows(lo, hi)
        return starts[0] if len(starts) == 1 and self.overlapping else None

    def left_behind(self, start: int) -> Iterator[tuple[int, int]]:
        """The nodes that the window before has and the one at `start` has not."""
        return self._cover(start - self.step, start)

    def come_since(self, start: int, lo: int) -> Iterator[tuple[int, int]]:
        """The nodes before `lo` that the window at `start` has and the one before has not."""
        return self._cover(start - self.step + self.length, lo)

    def windows(self, lo: int, hi: int) -> range:
        """Starts of the windows that end in (lo, hi]."""
        first_end = lo + 1 + (self.length - lo - 1) % self.step
        return range(first_end - self.length, hi - self.length + 1, self.step)

    def _straddling(self, lo: int, hi: int) -> Iterator[tuple[int, int]]:
        """Nodes that begin before `lo` and end in (lo, hi]."""
        for level in range(1, self.levels + 1):
            index = lo >> level
            if index << level < lo and (index + 1) << level <= hi:
                yield level, index

    def _cover(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The largest nodes that make up cells [start, end)."""
        while start < end:
            level = self.levels if start == 0 else min(self.levels, (start & -start).bit_length() - 1)
            while start + (1 << level) > end:
                level -= 1
            yield level, start >> level
            start += 1 << level

    def stime_of(self, level: int, index: int) -> int:
        """The stime that a node is stored under: the last microsecond that it covers."""
        return self.stime((index + 1) << level) - 1
