"""Which replicas of an upstream stream to read: Tables 4.2 and 4.3 of the thesis, as data (D30, D31).

An input has a feed for new buckets, Curr, and may have a second one for corrections, Bck. A feed is one lane of a replica: one
that corrects and keeps answering offers both, the fresh lane as if it were in UP_FAILURE and the correct lane in STABILIZATION.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import NamedTuple

from auroral.dpc.immutable import immutable
from auroral.dpc.states import State

STABLE, UP_FAILURE, STABILIZATION, FAILURE = State
NOT_STABLE = frozenset({UP_FAILURE, STABILIZATION, FAILURE})


class Action(Enum):
    """What a row of a table does; the text is that of the generated page."""

    STAY = "stay"
    STAY_ALONE = "drop Bck; stay"
    CURR = "Curr = r"
    BCK = "Bck = r"
    BCK_AS_CURR = "Bck = Curr; Curr = r"
    MORE_ADVANCED = "the more advanced of both becomes Curr; drop Bck"


@dataclass(frozen=True, slots=True)
class Row:
    """Holds where Curr and Bck are in these states (None: there is no Bck), some other replica r is in `some`, none in `without`."""

    number: int
    curr: frozenset[State]
    bck: frozenset[State | None]
    some: State | None
    without: frozenset[State]
    action: Action

    def holds(self, curr: State, bck: State | None, others: Collection[State]) -> bool:
        return (
            curr in self.curr
            and bck in self.bck
            and (self.some is None or self.some in others)
            and self.without.isdisjoint(others)
        )


def _row(
    number: int,
    curr: Iterable[State],
    bck: Iterable[State | None],
    action: Action,
    *,
    some: State | None = None,
    without: Iterable[State] = (),
) -> Row:
    return Row(number, frozenset(curr), frozenset(bck), some, frozenset(without), action)


ANY_BCK: frozenset[State | None] = frozenset({None, *State})
NO_BCK: frozenset[State | None] = frozenset({None})

TABLE_4_2 = (
    _row(1, {STABLE}, NO_BCK, Action.STAY),
    _row(2, NOT_STABLE, NO_BCK, Action.CURR, some=STABLE),
    _row(3, {UP_FAILURE}, NO_BCK, Action.STAY, without={STABLE}),
    _row(4, {FAILURE, STABILIZATION}, NO_BCK, Action.CURR, some=UP_FAILURE, without={STABLE}),
    _row(5, {FAILURE, STABILIZATION}, NO_BCK, Action.STAY, without={STABLE, UP_FAILURE}),
)
"""One feed. Rows are tried in their order."""

TABLE_4_3 = (
    _row(1, {STABLE}, ANY_BCK, Action.STAY_ALONE),
    _row(2, NOT_STABLE, {None, *NOT_STABLE}, Action.CURR, some=STABLE),
    _row(3, {UP_FAILURE}, {STABILIZATION}, Action.STAY, without={STABLE}),
    _row(4, {UP_FAILURE}, {None, UP_FAILURE, FAILURE}, Action.STAY_ALONE, without={STABLE, STABILIZATION}),
    _row(5, {UP_FAILURE}, {None, UP_FAILURE, FAILURE}, Action.BCK, some=STABILIZATION, without={STABLE}),
    _row(6, {STABILIZATION}, {None, FAILURE}, Action.STAY_ALONE, without={STABLE, UP_FAILURE}),
    _row(7, {STABILIZATION}, {None, FAILURE}, Action.BCK_AS_CURR, some=UP_FAILURE, without={STABLE}),
    _row(8, {STABILIZATION}, {STABILIZATION}, Action.MORE_ADVANCED),
    _row(9, {FAILURE}, {None, FAILURE}, Action.CURR, some=UP_FAILURE, without={STABLE}),
    _row(10, {FAILURE}, {None, FAILURE}, Action.CURR, some=STABILIZATION, without={STABLE, UP_FAILURE}),
    _row(11, {FAILURE}, {None, FAILURE}, Action.STAY_ALONE, without={STABLE, UP_FAILURE, STABILIZATION}),
)
"""Two feeds, once the better one of both is Curr. Rows are tried in their order: 2 comes before 8, 9 before 10."""


def as_markdown(table: tuple[Row, ...]) -> str:
    """The page that people read says what the code does."""
    lines = ["| | Curr | Bck | other replicas | then |", "|---|---|---|---|---|"]
    for row in table:
        some = [f"r is {row.some}"] if row.some is not None else []
        others = ", ".join([*some, *(f"none {state}" for state in sorted(row.without))]) or "any"
        lines.append(f"| {row.number} | {_named(row.curr)} | {_named(row.bck)} | {others} | {row.action.value} |")
    return "\n".join(lines) + "\n"


def _named(states: Iterable[State | None]) -> str:
    there = set(states)
    if there >= set(State):
        return "any"
    return ", ".join(["none"] * (None in there) + [str(state) for state in State if state in there])


class Lane(StrEnum):
    FRESH = "fresh"
    CORRECT = "correct"
    BOTH = "both"


class Feed(NamedTuple):
    replica: str
    lane: Lane


@immutable
class Offer:
    """What a replica says of a stream: its state, whether it keeps answering while it corrects, and the stable buckets that it has."""

    state: State
    fresh: bool = False
    frontier: int = 0
    kept_from: int = 0


@immutable
class Choice:
    curr: Feed | None
    bck: Feed | None
    rows: tuple[int, ...] = ()
    """The rows of the table that led here."""


_LANES = {STABLE: Lane.BOTH, UP_FAILURE: Lane.BOTH, STABILIZATION: Lane.CORRECT, FAILURE: Lane.BOTH}
"""A replica in UP_FAILURE gives what it has that is stable as well: it is final, whoever says it, and a reader that came back with
nothing, or one behind inputs that fail in turns, would never get on otherwise (D81; the thesis sends what is new alone, D36)."""


def feeds(offers: Mapping[str, Offer]) -> dict[Feed, State]:
    """The feeds that replicas offer, with the state that each counts as."""
    found = {Feed(replica, _LANES[offer.state]): offer.state for replica, offer in offers.items()}
    for replica, offer in offers.items():
        if offer.state is STABILIZATION and offer.fresh:
            found[Feed(replica, Lane.FRESH)] = UP_FAILURE
    return found


def choose(
    curr: Feed | None, bck: Feed | None, offers: Mapping[str, Offer], table: tuple[Row, ...] = TABLE_4_3
) -> Choice:
    """What to read from now on, by the table. Among equals the most advanced replica is taken, then the first by name."""
    states = feeds(offers)
    curr, bck = _still_offered(curr, states), _still_offered(bck, states)
    if curr is None or curr == bck:
        curr, bck = (bck, None) if bck is not None else (_best(states, offers), None)
    if curr is None:
        return Choice(None, None)
    used: list[int] = []
    while True:
        if bck is not None and states[bck] < states[curr]:
            curr, bck = bck, curr
        others = {feed: state for feed, state in states.items() if feed not in (curr, bck)}
        row = _matching(table, states[curr], None if bck is None else states[bck], others.values())
        used.append(row.number)
        if row.action is Action.STAY:
            return Choice(curr, bck, tuple(used))
        if row.action is Action.STAY_ALONE:
            return Choice(curr, None, tuple(used))
        candidates = {feed: state for feed, state in others.items() if state is row.some}
        match row.action:
            case Action.CURR:
                curr = _best(candidates, offers)
            case Action.BCK:
                # From another replica, if there is one: what is new does not wait behind the corrections.
                others_only = {feed: state for feed, state in candidates.items() if feed.replica != curr.replica}
                bck = _best(others_only or candidates, offers)
            case Action.BCK_AS_CURR:
                curr, bck = _best(candidates, offers), curr
            case Action.MORE_ADVANCED:
                assert bck is not None
                curr, bck = min((curr, bck), key=lambda feed: (-offers[feed.replica].frontier, feed)), None
        assert curr is not None


def _still_offered(feed: Feed | None, states: Mapping[Feed, State]) -> Feed | None:
    """The feed, or the lane of its replica that took its place when the replica's state changed."""
    if feed is None or feed in states:
        return feed
    lanes = sorted((other for other in states if other.replica == feed.replica), key=lambda other: states[other])
    return lanes[0] if lanes else None


def _best(candidates: Mapping[Feed, State], offers: Mapping[str, Offer]) -> Feed | None:
    return min(candidates, key=lambda f: (candidates[f], -offers[f.replica].frontier, f), default=None)


def _matching(table: tuple[Row, ...], curr: State, bck: State | None, others: Collection[State]) -> Row:
    for row in table:
        if row.holds(curr, bck, others):
            return row
    raise AssertionError(f"no row for Curr {curr}, Bck {bck}, others {list(others)}")
