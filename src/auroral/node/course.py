"""The course of a run: what came of each stream over time, in a file that is to be read later, and that does not grow with the run.

`course.jsonl` has lines of three kinds, each `of` a stream, or of the run as a whole:

| line | says |
|---|---|
| `at`, `counts`, `highest` | of the slot of time that begins then: how many of what, and the highest of each measure. Lines of one slot add up |
| `began` | something that lasts has begun, as a stream that is tentative |
| `spell` | it lasted from `began` to `ended`, and what is to be said of it |

A slot is a second long at first. When there are too many, slots become twice as long; of spells, the last are kept, and the others counted.
Not durable: it is to be looked at, not to be gone on from.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from auroral.edge.durable import replace_file
from auroral.model.errors import AuroralError

_log = logging.getLogger(__name__)
FILE = "course.jsonl"
WHOLE = ""
"""Of the run as a whole: its spells are its lives."""
MOST_SLOTS, MOST_SPELLS = 600, 300
"""Of each stream."""
_LINES = 3
"""For each slot, on average, until the file is written anew."""
_SHORTEST = 1.0
"""Seconds."""


@dataclass(slots=True)
class Slot:
    counts: Counter[str] = field(default_factory=Counter)
    highest: dict[str, float] = field(default_factory=dict)

    def add(self, counts: Mapping[str, int], highest: Mapping[str, float]) -> None:
        self.counts.update(counts)
        for name, value in highest.items():
            self.highest[name] = max(value, self.highest.get(name, value))

    def __bool__(self) -> bool:
        return bool(self.counts or self.highest)


@dataclass(frozen=True, slots=True)
class Spell:
    """`ended` is None for what lasts."""

    began: float
    ended: float | None
    said: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Course:
    """Of one stream."""

    length: float = _SHORTEST
    """Of a slot, in seconds."""
    slots: dict[int, Slot] = field(default_factory=dict)
    """By the number of its length since 1970."""
    spells: list[Spell] = field(default_factory=list)
    earlier: int = 0
    """Spells that are only counted."""
    earlier_seconds: float = 0.0
    lines: int = 0
    """In the file."""

    def add(self, at: float, counts: Mapping[str, int], highest: Mapping[str, float]) -> None:
        self.slots.setdefault(int(at // self.length), Slot()).add(counts, highest)
        while len(self.slots) > MOST_SLOTS:
            self._double()

    def _double(self) -> None:
        old, self.length, self.slots = self.slots, 2 * self.length, {}
        for number, slot in old.items():
            self.slots.setdefault(number // 2, Slot()).add(slot.counts, slot.highest)

    def begin(self, at: float) -> None:
        self._add(Spell(at, None))

    def end(self, spell: Spell) -> None:
        """The last one, which has begun."""
        if self.spells and self.spells[-1].ended is None:
            self.spells.pop()
        self._add(spell)

    def _add(self, spell: Spell) -> None:
        self.spells.append(spell)
        for old in self.spells[:-MOST_SPELLS]:
            self.earlier += 1
            self.earlier_seconds += (old.ended or old.began) - old.began
        del self.spells[:-MOST_SPELLS]

    @property
    def lasting(self) -> Spell | None:
        return self.spells[-1] if self.spells and self.spells[-1].ended is None else None

    def total(self) -> Slot:
        found = Slot()
        for slot in self.slots.values():
            found.add(slot.counts, slot.highest)
        return found

    def to_lines(self, of: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = [{"of": of, "length": self.length}]
        if self.earlier:
            found.append({"of": of, "earlier": self.earlier, "seconds": round(self.earlier_seconds, 3)})
        found += [_slot(of, number * self.length, slot) for number, slot in sorted(self.slots.items())]
        for one in self.spells:
            began: dict[str, Any] = {"of": of, "began": one.began}
            found.append(began if one.ended is None else {**began, "ended": one.ended, "spell": dict(one.said)})
        return found

    def take(self, said: Mapping[str, Any]) -> None:
        """A line of the file."""
        self.lines += 1
        match said:
            case {"length": float() | int() as length}:
                self.length = max(self.length, float(length))
            case {"earlier": int() as earlier, "seconds": seconds}:
                self.earlier, self.earlier_seconds = self.earlier + earlier, self.earlier_seconds + float(seconds)
            case {"spell": dict() as more, "began": began, "ended": ended}:
                self.end(Spell(float(began), float(ended), more))
            case {"began": began}:
                self.begin(float(began))
            case {"at": at, "counts": dict() as counts, "highest": dict() as highest}:
                self.add(float(at), counts, highest)
            case _:
                raise ValueError(f"{said!r} is no line of a course")


def courses_in(folder: Path) -> dict[str, Course]:
    """By stream. A line that is just being written, or was cut off, is left out."""
    found: dict[str, Course] = {}
    try:
        text = (folder / FILE).read_bytes()
    except FileNotFoundError:
        return found
    except OSError as error:
        raise AuroralError(
            f"{folder / FILE} cannot be read: {error.strerror}\n    allowed: the file in which the course of a run is kept\n"
            "    next: make it readable, or remove it: only reports need it"
        ) from error
    for line in text.split(b"\n"):
        try:
            said = json.loads(line)
            found.setdefault(said["of"], Course()).take(said)
        except (ValueError, KeyError, TypeError):
            continue
    return found


class CourseWriter:
    """Of a run folder, which this process has for itself. Nothing fails because it cannot be written."""

    def __init__(self, folder: Path):
        self._file = folder / FILE
        self.courses: dict[str, Course] = {}
        self._new: dict[tuple[str, float], Slot] = {}
        """What is not written yet, by stream and the begin of its slot."""
        self._failed = False
        self._begun = False
        try:
            self.courses = courses_in(folder)
        except AuroralError as error:
            self._tell(error)

    def add(self, of: str, at: float, counts: Mapping[str, int], **highest: float) -> None:
        course = self.courses.setdefault(of, Course())
        rounded = {name: round(value, 4) for name, value in highest.items()}
        begin = at // course.length * course.length
        if (of, begin) not in self._new and any(key[0] == of for key in self._new):
            self.flush()
        course.add(at, counts, rounded)
        self._new.setdefault((of, begin), Slot()).add(counts, rounded)

    def begin(self, of: str, at: float) -> None:
        self.courses.setdefault(of, Course()).begin(at)
        self._say({"of": of, "began": round(at, 3)})

    def end(self, of: str, began: float, ended: float, **said: Any) -> None:
        began, ended = round(began, 3), round(ended, 3)
        self.courses.setdefault(of, Course()).end(Spell(began, ended, said))
        self._say({"of": of, "began": began, "ended": ended, "spell": said})

    def flush(self) -> None:
        while self._new:
            (of, begin), slot = self._new.popitem()
            self._say(_slot(of, begin, slot))

    def _say(self, line: Mapping[str, Any]) -> None:
        self._put(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        course = self.courses[line["of"]]
        course.lines += 1
        if course.lines > _LINES * (MOST_SLOTS + MOST_SPELLS):
            self._anew()

    def _put(self, text: bytes) -> None:
        try:
            with self._file.open("ab", buffering=0) as opened:
                # The first line goes behind one that was cut off.
                opened.write(text if self._begun or not opened.tell() else b"\n" + text)
            self._begun = True
        except OSError as error:
            self._tell(error)

    def _anew(self) -> None:
        lines = {of: course.to_lines(of) for of, course in self.courses.items()}
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for all_of in lines.values() for line in all_of)
        try:
            replace_file(self._file, text.encode())
        except OSError as error:
            self._tell(error)
        # Those are among the courses.
        self._new.clear()
        for of, course in self.courses.items():
            course.lines = len(lines[of])

    def _tell(self, error: OSError | AuroralError) -> None:
        if not self._failed:
            _log.error("the course of this run is not kept, and a report will lack what happens now: %s", error)
        self._failed = True


def _slot(of: str, begin: float, slot: Slot) -> dict[str, Any]:
    return {"of": of, "at": begin, "counts": dict(slot.counts), "highest": slot.highest}
