"""Plots as SVG, with the colours of the page: states of processes, delays against X, and how buckets came."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from auroral.node.course import Course, Slot
from auroral.reporting.incidents import Incident
from auroral.reporting.markup import Child, Markup, tag
from auroral.reporting.times import length, moment, ticks
from auroral.ui.conditions import Condition, worst

WIDTH, LEFT, RIGHT = 1000, 108, 12
_ROW, _BAR = 30, 15
_HIGH, _STRIP = 150, 46
_COLUMNS = 220
_KINDS = ("stable", "confirmed", "corrected", "tentative", "missed")
"""How a bucket can come, the best below."""


class Axis:
    """Of time, which all plots of a page share."""

    def __init__(self, begin: float, end: float):
        self.begin, self.end = begin, max(end, begin + 1.0)
        self._scale = (WIDTH - LEFT - RIGHT) / (self.end - self.begin)

    def x(self, at: float) -> float:
        return round(LEFT + (min(max(at, self.begin), self.end) - self.begin) * self._scale, 1)

    def grid(self, height: float) -> list[Markup]:
        found = []
        for at, words in ticks(self.begin, self.end):
            x = self.x(at)
            found.append(tag("line", x1=x, x2=x, y1=0, y2=height, class_="grid"))
            found.append(tag("text", words, x=x, y=height + 15, text_anchor="middle"))
        return found


def _svg(height: float, label: str, *children: Child) -> Markup:
    drawn = tag("svg", children, viewBox=f"0 0 {WIDTH} {height}", role="img", aria_label=label)
    return tag("div", drawn, class_="plot")


def timeline(rows: Sequence[Mapping[str, Any]], incidents: Sequence[Incident], axis: Axis) -> Markup:
    """A line for each process; numbers are those of the incidents that follow."""
    drawn: list[Child] = [axis.grid(len(rows) * _ROW + 4)]
    for place, row in enumerate(rows):
        y = place * _ROW + 13
        drawn.append(tag("text", row["process"], x=0, y=y + 11, class_="who"))
        for condition, begin, end in _bars(row["bars"], axis):
            drawn.append(_bar(condition, begin, end, y, axis))
        for x, numbers in _marks(row["process"], incidents, axis):
            drawn.append(tag("line", x1=x, x2=x, y1=y - 3, y2=y + _BAR, class_="alarm"))
            drawn.append(tag("text", numbers, x=x + 2, y=y - 3, class_="number"))
    return _svg(len(rows) * _ROW + 24, "states of all processes over time", *drawn)


def _marks(who: str, incidents: Sequence[Incident], axis: Axis) -> list[tuple[float, str]]:
    """Where incidents begin; the numbers of those that lie too close to be told apart stand together."""
    found: list[tuple[float, list[int]]] = []
    for number, one in enumerate(incidents, 1):
        if one.who == who:
            x = axis.x(one.begin)
            if found and x - found[-1][0] < 4 + 9 * len(found[-1][1]):
                found[-1][1].append(number)
            else:
                found.append((x, [number]))
    return [(x, ",".join(map(str, ns)) if len(ns) < 4 else f"{ns[0]}…{ns[-1]}") for x, ns in found]


def _bar(condition: Condition, begin: float, end: float, y: float, axis: Axis) -> Markup:
    said = tag("title", f"{condition}, {moment(begin)} for {length(end - begin)}")
    x, wide = axis.x(begin), max(1.0, round(axis.x(end) - axis.x(begin), 1))
    parts: list[Child] = [said, tag("rect", x=x, y=y, width=wide, height=_BAR, rx=2)]
    if wide > 8 * len(condition) and condition is not Condition.UNKNOWN:
        parts.append(tag("text", str(condition), x=x + 5, y=y + 11, class_="word"))
    return tag("g", parts, class_=f"bar {condition}")


def _bars(bars: Iterable[Sequence[Any]], axis: Axis) -> list[tuple[Condition, float, float]]:
    """What is shorter than a pixel is one with its neighbours, and the worst of them is seen."""
    width = (axis.end - axis.begin) / (WIDTH - LEFT - RIGHT)
    at: dict[int, Condition] = {}
    for condition, begin, end in bars:
        first, last = (int((min(max(t, axis.begin), axis.end) - axis.begin) / width) for t in (begin, end or axis.end))
        for pixel in range(first, max(first + 1, last)):
            at[pixel] = worst([Condition(condition), at[pixel]]) if pixel in at else Condition(condition)
    runs: list[tuple[Condition, int, int]] = []
    for pixel in sorted(at):
        if runs and runs[-1][0] is at[pixel] and runs[-1][2] == pixel:
            runs[-1] = (at[pixel], runs[-1][1], pixel + 1)
        else:
            runs.append((at[pixel], pixel, pixel + 1))
    return [(condition, axis.begin + first * width, axis.begin + last * width) for condition, first, last in runs]


def _columns(course: Course, axis: Axis) -> list[tuple[float, float, Slot]]:
    """Slots, no more than can be told apart: begin, end and what was in it."""
    wide = max(course.length, (axis.end - axis.begin) / _COLUMNS)
    found: dict[int, Slot] = {}
    for number, slot in course.slots.items():
        at = number * course.length
        found.setdefault(int((at - axis.begin) // wide), Slot()).add(slot.counts, slot.highest)
    return [(axis.begin + n * wide, axis.begin + (n + 1) * wide, slot) for n, slot in sorted(found.items())]


def delays(course: Course, bound: float, axis: Axis) -> Markup:
    """Of what was new, the longest in each slot; behind it, when something was tentative; below, how buckets came."""
    columns = _columns(course, axis)
    late = [(begin, end, slot.highest["delay"]) for begin, end, slot in columns if "delay" in slot.highest]
    top = 1.12 * max([delay for *_, delay in late] + ([bound] if bound < math.inf else []), default=1.0) or 1.0
    base, strip = _HIGH + 8, _HIGH + 20

    def y(value: float) -> float:
        return round(base - value / top * _HIGH, 1)

    drawn: list[Child] = [axis.grid(strip + _STRIP)]
    for spell in course.spells:
        x, until = axis.x(spell.began), axis.x(axis.end if spell.ended is None else spell.ended)
        said = tag(
            "title", f"tentative from {moment(spell.began)} for {length((spell.ended or axis.end) - spell.began)}"
        )
        shade = tag("rect", x=x, y=8, width=max(1.0, round(until - x, 1)), height=_HIGH)
        drawn.append(tag("g", said, shade, class_="spell"))
    drawn += [tag("text", words, x=LEFT - 8, y=y(value) + 4, text_anchor="end") for value, words in ((0.0, "0 s"),)]
    drawn.append(tag("text", "delay", x=0, y=18, class_="who"))
    drawn.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=base, y2=base, class_="base"))
    for begin, end, delay in late:
        x, wide = axis.x(begin), max(1.0, round(axis.x(end) - axis.x(begin) - 0.6, 1))
        said = tag("title", f"{moment(begin)}: {length(delay)} later than usual")
        over = "delay over" if delay >= bound else "delay"
        high = max(1.0, round(base - y(delay), 1))
        drawn.append(tag("g", said, tag("rect", x=x, y=base - high, width=wide, height=high), class_=over))
    if bound < math.inf:
        drawn.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y(bound), y2=y(bound), class_="bound"))
        drawn.append(
            tag("text", f"X = {bound:g} s", x=LEFT - 8, y=y(bound) + 4, text_anchor="end", class_="bound-word")
        )
    if not late:
        drawn.append(tag("text", "no delays: files were not read at their own pace", x=LEFT + 10, y=base - 10))
    drawn.append(tag("text", "buckets", x=0, y=strip + 28, class_="who"))
    drawn.append(_stacks(columns, strip, axis))
    return _svg(strip + _STRIP + 20, "delay of new results over time, with X, and how buckets came", *drawn)


def _stacks(columns: Sequence[tuple[float, float, Slot]], top: float, axis: Axis) -> list[Child]:
    """How many of each slot came in which way, as parts of all."""
    drawn: list[Child] = []
    for begin, end, slot in columns:
        counts = {kind: slot.counts[kind] for kind in _KINDS if slot.counts[kind]}
        y, whole = top + _STRIP, sum(counts.values())
        said = ", ".join(f"{count} {kind}" for kind, count in counts.items())
        parts: list[Child] = [tag("title", f"{moment(begin)}: {said}")]
        x, wide = axis.x(begin), max(1.0, round(axis.x(end) - axis.x(begin) - 0.6, 1))
        for kind, count in counts.items():
            high = round(_STRIP * count / whole, 1)
            y = round(y - high, 1)
            parts.append(tag("rect", x=x, y=y, width=wide, height=high, class_=f"came {kind}"))
        drawn.append(tag("g", parts) if counts else None)
    return drawn


def work(course: Course, axis: Axis) -> Markup:
    """Of a run: rows that were evaluated in a second, and the longest job of each slot."""
    drawn: list[Child] = [axis.grid(2 * _HIGH + 40)]
    columns = _columns(course, axis)
    rates = [(begin, end, slot.counts["in"] / (end - begin)) for begin, end, slot in columns]
    jobs = [(begin, end, slot.highest["job"]) for begin, end, slot in columns if "job" in slot.highest]
    for place, (name, found, unit) in enumerate((("rows a second", rates, ""), ("longest job", jobs, " s"))):
        base = (place + 1) * (_HIGH + 12) + 8 * place
        highest = max((value for *_, value in found), default=0.0) or 1.0
        drawn.append(tag("text", name, x=0, y=base - _HIGH + 10, class_="who"))
        drawn.append(tag("text", f"{highest:,.3g}{unit}", x=LEFT - 8, y=base - _HIGH + 28, text_anchor="end"))
        drawn.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=base, y2=base, class_="base"))
        for begin, end, value in found:
            x, wide = axis.x(begin), max(1.0, round(axis.x(end) - axis.x(begin) - 0.6, 1))
            high = round(value / highest * (_HIGH - 14), 1)
            said = tag("title", f"{moment(begin)}: {value:,.3g}{unit}")
            drawn.append(tag("g", said, tag("rect", x=x, y=base - high, width=wide, height=high), class_="delay"))
    return _svg(2 * _HIGH + 60, "rows a second and the longest job, over time", *drawn)
