"""Writes down how a client was given its outputs: how many buckets in which way, how late, and what was tentative for how long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from auroral.node.course import CourseWriter

_LEVELS = ("complete", "partial", "missing")


@dataclass(slots=True)
class _Spell:
    """A time in which something of a stream was tentative."""

    began: float
    counts: Counter[str] = field(default_factory=Counter)
    lacked: dict[str, str] = field(default_factory=dict)
    """The worst of each source that was not complete."""
    earlier_life: bool = False
    """It began in an earlier life of the client, which has not told what of it was tentative."""


class DeliveryCourse:
    """Told every delivery, in their order."""

    def __init__(self, writer: CourseWriter):
        self._writer = writer
        self._since: dict[str, dict[int, float]] = {}
        """By stream, the buckets that are tentative, and since when."""
        self._spells: dict[str, _Spell] = {
            of: _Spell(course.lasting.began, earlier_life=True)
            for of, course in writer.courses.items()
            if course.lasting is not None
        }

    def delivered(
        self,
        stream: str,
        bucket: int,
        kind: str,
        rows: int,
        at: float,
        delay: float | None,
        coverage: Mapping[str, str],
    ) -> None:
        """`delay`: of what was new, how much later than usual it came."""
        tentative = self._since.setdefault(stream, {})
        # A better guess at the same bucket is no other bucket.
        counts = {"again" if kind == "tentative" and bucket in tentative else kind: 1}
        highest = {} if delay is None else {"delay": delay}
        if rows and "again" not in counts:
            counts[f"{kind} rows"] = rows
        if kind == "tentative":
            spell = self._spell(stream, at)
            spell.counts.update(counts)
            for source, level in coverage.items():
                if level != _LEVELS[0]:
                    spell.lacked[source] = max(level, spell.lacked.get(source, level), key=_LEVELS.index)
            tentative.setdefault(bucket, at)
        elif (since := tentative.pop(bucket, None)) is not None:
            highest["tentative for"] = at - since
            self._spells[stream].counts[kind] += 1
        self._writer.add(stream, at, counts, **highest)
        self._ends(stream, at)

    def missed(self, stream: str, begin: int, end: int, at: float) -> None:
        tentative = self._since.setdefault(stream, {})
        lost = [bucket for bucket in range(begin, end) if tentative.pop(bucket, None) is not None]
        if lost:
            self._spells[stream].counts["missed"] += len(lost)
        self._writer.add(stream, at, {"missed": end - begin})
        self._ends(stream, at)

    def _spell(self, stream: str, at: float) -> _Spell:
        if stream not in self._spells:
            self._spells[stream] = _Spell(at)
            self._writer.begin(stream, at)
        return self._spells[stream]

    def _ends(self, stream: str, at: float) -> None:
        if self._since[stream] or stream not in self._spells:
            return
        spell = self._spells.pop(stream)
        said: dict[str, Any] = {**spell.counts, "lacked": spell.lacked}
        if spell.earlier_life:
            said["earlier_life"] = True
        self._writer.end(stream, spell.began, at, **said)
