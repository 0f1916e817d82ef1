"""Failure schedules: a line each, readable by people."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from auroral.model.errors import AuroralError

MANY = 99
CATALOG_HOST = "catalog"
"""Who moves replicas and changes queries; there is one where something moves or changes."""
RECONFIGURES = ("move", "change", "abandon")
OF_QUERIES = ("change", "abandon")
OF_CLOCKS = ("forward", "back")
OF_SOURCES = ("silence", "resume", "open", "close")


@dataclass(frozen=True, slots=True)
class Verb:
    """What can happen, to how many hosts, and what ends it; `>` between two hosts means one way only."""

    meaning: str
    least: int
    most: int
    end: str | None = None
    one_way: bool = False


VERBS: Mapping[str, Verb] = {
    "cut": Verb("nothing passes between two hosts, or one host and all others", 1, 2, "heal", True),
    "isolate": Verb("nothing passes between these hosts and all others; both sides live on", 1, MANY, "rejoin"),
    "slow": Verb("messages between two hosts take 0.3 s longer", 2, 2, "quicken"),
    "reset": Verb("the connections between two hosts break; they can be made again at once", 2, 2),
    "crash": Verb("hosts stop and lose all but what they logged; their peers are told", 1, MANY, "restart"),
    "destroy": Verb(
        "as crash, and what hosts had on their disks is gone too: only other replicas have it", 1, MANY, "restart"
    ),
    "unplug": Verb("as crash, but nobody is told", 1, MANY, "restart"),
    "silence": Verb("a source logs nothing; what it missed comes when it resumes", 1, 1, "resume"),
    "open": Verb("a source goes on giving rows and closes no bucket", 1, 1, "close"),
    "move": Verb("the replica on a host goes to another one, which may be new", 2, 2),
    "change": Verb("a query gets another version, from some bucket on", 1, 1),
    "abandon": Verb("the move or change of a query that is under way, if there is one, is given up", 1, 1),
    "forward": Verb(
        "the clock of a host is set so many seconds ahead, as `forward na-30`; who is started there later sees it", 2, 2
    ),
    "back": Verb("as forward, but back", 2, 2),
    "heal": Verb("ends cut", 1, 2, one_way=True),
    "rejoin": Verb("ends isolate", 1, MANY),
    "quicken": Verb("ends slow", 2, 2),
    "restart": Verb("ends crash, destroy and unplug", 1, MANY),
    "resume": Verb("ends silence", 1, 1),
    "close": Verb("ends open", 1, 1),
}

_LINE = re.compile(r"at\s+(?P<time>\d+(?:\.\d+)?)\s*s\s+(?P<verb>\w+)(?:\s+(?P<places>\S+))?")
_SECONDS = re.compile(r"\d+(?:\.\d+)?")
ENDS = {verb.end: name for name, verb in VERBS.items() if verb.end is not None}
"""What each of them ends, or one of what it ends."""


class WrongSchedule(AuroralError):
    """A schedule that cannot be read."""


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    at: float
    verb: str
    places: tuple[str, ...]
    one_way: bool = False
    """From the first place to the second only."""

    def __str__(self) -> str:
        return f"at {self.at:g}s {self.verb} {('>' if self.one_way else '-').join(self.places)}"

    @property
    def ends(self) -> bool:
        """Whether it ends another fault, and is none itself."""
        return any(verb.end == self.verb for verb in VERBS.values())


def parse(text: str, places: Iterable[str] | None = None) -> tuple[Fault, ...]:
    """Lines, or parts between semicolons, like `at 3s cut n1-n3`; `#` begins a comment. What ends a failure may be said without places, as
    `at 20s heal`: then it ends all of that kind."""
    lines = [(number, part.strip()) for number, line in enumerate(text.splitlines(), 1) for part in _parts(line)]
    found = list(_ended(sorted(((number, _fault(part, number)) for number, part in lines if part), key=_time)))
    if places is not None:
        moved_to = {fault.places[1] for _, fault in found if fault.verb == "move"}
        catalog = [CATALOG_HOST] if any(fault.verb in RECONFIGURES for _, fault in found) else []
        known = {*places, *moved_to, *catalog}
        for number, fault in found:
            if fault.verb in OF_QUERIES:
                continue
            places_said = fault.places[:1] if fault.verb in OF_CLOCKS else fault.places
            if unknown := [place for place in places_said if place not in known]:
                raise WrongSchedule(
                    f"line {number}: there is no {', '.join(unknown)}; there are {', '.join(sorted(known))}"
                )
    return tuple(sorted(fault for _, fault in found))


def _time(numbered: tuple[int, Fault]) -> Fault:
    return numbered[1]


def _ended(found: Iterable[tuple[int, Fault]]) -> Iterator[tuple[int, Fault]]:
    """In the order of their times. One that ends nothing would be a failure that somebody thinks is over."""
    lasting: list[Fault] = []
    for number, fault in found:
        if not fault.ends:
            lasting += [fault] if VERBS[fault.verb].end is not None else []
            yield number, fault
            continue
        over = [one for one in lasting if VERBS[one.verb].end == fault.verb and _is_ended(one, fault)]
        if not over:
            raise WrongSchedule(
                f"line {number}: '{str(fault).strip()}' ends nothing: no {ENDS[fault.verb]} of these places is there before it; "
                "allowed: the places as they stand there, or none, to end all"
            )
        lasting = _without(lasting, fault)
        for one in over if not fault.places else [replace(over[0], places=fault.places, one_way=fault.one_way)]:
            yield number, replace(one, at=fault.at, verb=fault.verb)


def lasting(faults: Iterable[Fault]) -> list[Fault]:
    """What never ends."""
    found: list[Fault] = []
    for fault in sorted(faults):
        if fault.ends:
            found = _without(found, fault)
        elif VERBS[fault.verb].end is not None:
            found.append(fault)
    return found


def _without(lasting: Iterable[Fault], end: Fault) -> list[Fault]:
    left = (_left(one, end) if VERBS[one.verb].end == end.verb and _is_ended(one, end) else one for one in lasting)
    return [one for one in left if one is not None]


def _is_ended(one: Fault, end: Fault) -> bool:
    if end.verb == "restart":
        return not end.places or not set(end.places).isdisjoint(one.places)
    same = one.places == end.places if one.one_way else set(one.places) == set(end.places)
    return not end.places or (same and one.one_way == end.one_way)


def _left(one: Fault, end: Fault) -> Fault | None:
    """Of several hosts that crashed at once, those that do not come back with these."""
    down = tuple(place for place in one.places if end.places and place not in end.places)
    return replace(one, places=down) if end.verb == "restart" and down else None


def _parts(line: str) -> list[str]:
    return line.split("#")[0].split(";")


def _fault(part: str, line: int) -> Fault:
    match = _LINE.fullmatch(part)
    if match is None:
        raise WrongSchedule(f"line {line}: {part!r} is not like 'at 3s cut n1-n3'; allowed: {', '.join(VERBS)}")
    said = match["places"] or ""
    name, one_way = match["verb"], ">" in said
    places = tuple(said.split(">" if one_way else "-")) if said else ()
    if name in ENDS and not places:
        return Fault(float(match["time"]), name, ())
    if name not in VERBS:
        raise WrongSchedule(f"line {line}: there is no {name!r}; allowed: {', '.join(VERBS)}")
    verb = VERBS[name]
    if one_way and not (verb.one_way and len(places) == 2):
        raise WrongSchedule(f"line {line}: {part!r}: only 'cut a>b' and 'heal a>b' go one way")
    if not verb.least <= len(places) <= verb.most:
        allowed = {(1, MANY): "one place or more", (1, 2): "1 or 2 places"}.get(
            (verb.least, verb.most), f"{verb.least} place{'s' * (verb.least > 1)}"
        )
        raise WrongSchedule(f"line {line}: {name} takes {allowed}, not {len(places)}")
    if name in OF_CLOCKS and not _SECONDS.fullmatch(places[1]):
        raise WrongSchedule(f"line {line}: {part!r} is not like 'at 3s {name} na-30': a host, and seconds")
    return Fault(float(match["time"]), name, places, one_way)


def text(faults: Iterable[Fault]) -> str:
    return "; ".join(str(fault) for fault in faults)


def with_their_ends(faults: Iterable[Fault]) -> list[tuple[Fault, ...]]:
    """Each fault with what ends it: one without the other would be another failure."""
    found: list[list[Fault]] = []
    open_: dict[tuple[str, tuple[str, ...], bool], list[Fault]] = {}
    for fault in faults:
        begun = open_.pop((fault.verb, fault.places, fault.one_way), None)
        if begun is not None:
            begun.append(fault)
            continue
        found.append([fault])
        end = VERBS[fault.verb].end
        if end is not None:
            open_[end, fault.places, fault.one_way] = found[-1]
    return [tuple(one) for one in found]


def shortened(faults: tuple[Fault, ...], fails: Callable[[tuple[Fault, ...]], bool]) -> tuple[Fault, ...]:
    """The shortest schedule that still fails, by leaving out faults (each with its end), halves first."""
    whole = with_their_ends(faults)
    size = len(whole)
    while size:
        at = 0
        while at < len(whole):
            left = whole[:at] + whole[at + size :]
            tried = tuple(sorted(fault for one in left for fault in one))
            if fails(tried):
                whole, faults = left, tried
            else:
                at += size
        size //= 2
    return faults
