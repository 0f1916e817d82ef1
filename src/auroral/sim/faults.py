"""Failure schedules: a line each, readable by people."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from auroral.model.errors import AuroralError

VERBS = {
    **dict.fromkeys(("cut", "heal"), (1, 2)),
    **dict.fromkeys(("crash", "restart", "silence", "resume", "open", "close"), (1, 1)),
}
"""What can happen, and to how many hosts or (from silence on) sources it does. An open source gives rows and closes no bucket."""

_LINE = re.compile(r"at\s+(?P<time>\d+(?:\.\d+)?)\s*s\s+(?P<verb>\w+)\s+(?P<places>\S+)")


class WrongSchedule(AuroralError):
    """A schedule that cannot be read."""


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    at: float
    verb: str
    places: tuple[str, ...]

    def __str__(self) -> str:
        return f"at {self.at:g}s {self.verb} {'-'.join(self.places)}"


def parse(text: str, places: Iterable[str] | None = None) -> tuple[Fault, ...]:
    """Lines, or parts between semicolons, like `at 3s cut n1-n3`; `#` begins a comment."""
    known = None if places is None else set(places)
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        for part in line.split("#")[0].split(";"):
            if part.strip():
                found.append(_fault(part.strip(), number, known))
    return tuple(sorted(found))


def _fault(part: str, line: int, known: set[str] | None) -> Fault:
    match = _LINE.fullmatch(part)
    if match is None:
        raise WrongSchedule(f"line {line}: {part!r} is not like 'at 3s cut n1-n3'; allowed: {', '.join(VERBS)}")
    verb, places = match["verb"], tuple(match["places"].split("-"))
    if verb not in VERBS:
        raise WrongSchedule(f"line {line}: there is no {verb!r}; allowed: {', '.join(VERBS)}")
    least, most = VERBS[verb]
    if not least <= len(places) <= most:
        raise WrongSchedule(
            f"line {line}: {verb} takes {least if least == most else f'{least} or {most}'} places, not {len(places)}"
        )
    unknown = [place for place in places if known is not None and place not in known]
    if unknown:
        raise WrongSchedule(
            f"line {line}: there is no {', '.join(unknown)}; there are {', '.join(sorted(known or ()))}"
        )
    return Fault(float(match["time"]), verb, places)


def text(faults: Iterable[Fault]) -> str:
    return "; ".join(str(fault) for fault in faults)
