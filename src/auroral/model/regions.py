"""Regions: boxes that share a table or a lockset, and the boxes between them, as one fold (DESIGN 2).

What one box does to a table, the others see. So all of them work on one row after the other: rows enter a region in the order of stime, entry
port and the port's order key, and each is followed to its end, through every box that it or its results reach, before the next one enters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from auroral.model.boxes.base import BoxClass, BoxFacts, BoxSpec, Report, TypedBox
from auroral.model.boxes.changes import TypedChanges
from auroral.model.boxes.later import TypedLater
from auroral.model.boxes.locks import TypedLockBox
from auroral.model.boxes.stateless import TypedFilter, TypedIdentity, TypedMap, TypedUnion
from auroral.model.boxes.tables import TypedTableBox
from auroral.model.diagram import Box, Diagram
from auroral.model.errors import Problem
from auroral.model.expression import Typed
from auroral.model.expression.typed import SqlExpression, walk
from auroral.model.on_error import OnError
from auroral.model.stream import StreamType
from auroral.model.tables import Table
from auroral.model.window_samples import CheckedBox

BETWEEN = TypedFilter | TypedMap | TypedUnion | TypedIdentity


@dataclass(frozen=True, slots=True)
class Region:
    """What stands in the place of the boxes of a region. `type_name` says what they share, for tables of boxes."""

    members: tuple[str, ...]
    type_name: str

    type: ClassVar[str] = "region"
    facts: ClassVar[BoxFacts] = BoxFacts(
        box_class="fold",
        ports="the streams that enter and leave the region",
        closing_event="a row",
        result_stime="the row's",
        order_key="as the region gives them",
        state="its tables, by key; locks",
        horizon="all of the past",
        deterministic=True,
        convergent=False,
        repeatable=True,
        compiles_to="rows one by one, in processing order",
    )

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        raise AssertionError("regions are made of boxes that were checked")


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedRegion(TypedBox):
    """`members` are in the order of the diagram: a stream that several of them read goes to the first one first. `entries` are the streams
    that enter, by port, with their types; `streams` those that leave."""

    members: tuple[CheckedBox, ...]
    entries: tuple[tuple[str, StreamType], ...]
    streams: tuple[str, ...]
    tables: tuple[Table, ...]

    def expressions(self) -> Iterator[Typed]:
        for member in self.members:
            yield from member.typed.expressions()

    def readers(self, stream: str) -> Iterator[tuple[int, int]]:
        """The members that read it, by number, and the port that they read it on."""
        for number, member in enumerate(self.members):
            for port, read in enumerate(member.box.inputs):
                if read == stream:
                    yield number, port

    def changes(self, table: str) -> Iterator[int]:
        """The members that give out the changes of a table, by number."""
        for number, member in enumerate(self.members):
            if isinstance(member.typed, TypedChanges) and member.typed.table.name == table:
                yield number

    def stream(self, name: str) -> StreamType:
        for member in self.members:
            if name in member.box.outputs:
                return member.typed.outputs[member.box.outputs.index(name)]
        return dict(self.entries)[name]


def shared(typed: TypedBox) -> str | None:
    """What a box has in common with others of its region."""
    if isinstance(typed, TypedTableBox | TypedChanges):
        return f"table {typed.table.name!r}"
    return f"lockset {typed.lockset!r}" if isinstance(typed, TypedLockBox) else None


def with_regions(
    diagram: Diagram, boxes: Sequence[CheckedBox], streams: Mapping[str, StreamType], problems: list[Problem]
) -> tuple[CheckedBox, ...]:
    """The boxes with each region as one, in topological order; what is wrong with a region is added to `problems`."""
    regions = [sorted(one) for one in _groups(boxes)]
    before = len(problems)
    for region in regions:
        problems += _problems(diagram, boxes, region)
    if len(problems) > before or not regions:
        return tuple(boxes)
    places = {id(box): number for number, box in enumerate(diagram.boxes)}
    region_of = {number: at for at, region in enumerate(regions) for number in region}
    merged = [_region([boxes[n] for n in region], places, streams) for region in regions]
    found, left = _ordered([c for n, c in enumerate(boxes) if n not in region_of] + merged)
    problems += [_led_back(c) for c in left if isinstance(c.typed, TypedRegion)][:1]
    return found


def _groups(boxes: Sequence[CheckedBox]) -> list[set[int]]:
    """Boxes by number: those that share something, with all that lies on a way between two of them."""
    made_by = {stream: n for n, c in enumerate(boxes) for stream in c.box.outputs}
    before = [{made_by[s] for s in c.box.inputs if s in made_by} for c in boxes]
    ancestors: list[set[int]] = []
    for n in range(len(boxes)):
        ancestors.append(set[int]().union(before[n], *(ancestors[b] for b in before[n])))
    sharing: dict[str, set[int]] = {}
    for n, c in enumerate(boxes):
        if (what := shared(c.typed)) is not None:
            sharing.setdefault(what, set()).add(n)
    groups = list(sharing.values())
    while True:
        groups = [_with_between(group, ancestors) for group in groups]
        joined = _joined(groups)
        if joined == groups:
            return groups
        groups = joined


def _with_between(group: set[int], ancestors: Sequence[set[int]]) -> set[int]:
    above = set[int]().union(*(ancestors[n] for n in group))
    return group | {n for n in above if ancestors[n] & group}


def _joined(groups: Iterable[set[int]]) -> list[set[int]]:
    found: list[set[int]] = []
    for group in groups:
        apart = [one for one in found if not one & group]
        found = [*apart, group.union(*(one for one in found if one & group))]
    return found


def _region(members: list[CheckedBox], places: Mapping[int, int], streams: Mapping[str, StreamType]) -> CheckedBox:
    members = sorted(members, key=lambda c: places[id(c.box)])
    made = tuple(stream for c in members for stream in c.box.outputs)
    read = tuple(dict.fromkeys(s for c in members for s in c.box.inputs if s not in made))
    what = ", ".join(dict.fromkeys(what for c in members if (what := shared(c.typed)) is not None))
    first = members[0].box
    tables = {c.typed.table.name: c.typed.table for c in members if isinstance(c.typed, TypedTableBox | TypedChanges)}
    typed = TypedRegion(
        outputs=tuple(streams[stream] for stream in made),
        box_class=BoxClass.FOLD,
        # A table answers from what it has: with one input missing, the answer is tentative.
        required=(False,) * len(read),
        order_sensitive=True,
        members=tuple(members),
        entries=tuple((stream, streams[stream]) for stream in read),
        streams=made,
        tables=tuple(tables.values()),
    )
    names = tuple(c.box.name for c in members)
    return CheckedBox(
        Box(
            first.name,
            Region(names, f"region of {what}: {', '.join(names)}"),
            read,
            made,
            first.node,
            place=first.place,
        ),
        typed,
    )


def _ordered(boxes: list[CheckedBox]) -> tuple[tuple[CheckedBox, ...], list[CheckedBox]]:
    """Each behind those that it reads from; and those that read from one another in a loop, which only changes of tables can make."""
    made = {stream for c in boxes for stream in c.box.outputs}
    found, waiting = list[CheckedBox](), boxes
    while ready := [c for c in waiting if not made.intersection(c.box.inputs)]:
        found += ready
        made.difference_update(stream for c in ready for stream in c.box.outputs)
        waiting = [c for c in waiting if all(c is not one for one in ready)]
    return tuple(found), waiting


def _led_back(region: CheckedBox) -> Problem:
    what = getattr(region.box.spec, "type_name", region.box.name)
    return Problem(
        f"changes of a table lead back to it: {what}",
        region.box.place,
        allowed="changes that go to outputs, and to boxes from which no way leads back to the table",
        next_step="take what the box before the table gives, and not the changes of the table",
    )


def _problems(diagram: Diagram, boxes: Sequence[CheckedBox], region: Sequence[int]) -> Iterator[Problem]:
    members = [boxes[n] for n in region]
    what = ", ".join(dict.fromkeys(s for c in members if (s := shared(c.typed)) is not None))
    yield from _in_one_query(diagram, members, what)
    given_out = {c.box.outputs[0] for c in members if isinstance(c.typed, TypedChanges)}
    for member in members:
        if given_out.intersection(member.box.inputs):
            yield Problem(
                f"changes of {what} lead back to it, by way of box {member.box.name!r}",
                member.box.place,
                allowed="changes that go to outputs, and to boxes from which no way leads back to the table",
                next_step="take what the box before the table gives, and not the changes of the table",
            )
    written = {c.typed.table.name for c in members if isinstance(c.typed, TypedTableBox) and c.typed.writes}
    for member in members:
        if isinstance(member.typed, TypedChanges) and member.typed.table.name not in written:
            yield Problem(
                f"box {member.box.name!r} gives the changes of table {member.typed.table.name!r}, which no box writes",
                member.box.place,
                allowed="changes of tables that a box inserts into, updates or deletes from",
                next_step="leave it out, or add an insert",
            )
    for member in members:
        if shared(member.typed) is None:
            yield from _between(member, what)
        elif any(isinstance(node, SqlExpression) for e in member.typed.expressions() for node in walk(e)):
            yield _only_spark(member, what)


def _in_one_query(diagram: Diagram, members: Sequence[CheckedBox], what: str) -> Iterator[Problem]:
    queries = {box.name: query.name for query in diagram.queries for box in query.boxes}
    nodes = {c.box.node for c in members}
    first = queries[members[0].box.name]
    other = next((c for c in members if queries[c.box.name] != first), None)
    if other is not None:
        yield Problem(
            f"{what} is used in query {first!r} and in query {queries[other.box.name]!r}, by box {other.box.name!r}: its boxes "
            "work on one row after the other, and queries run apart, on nodes of their own",
            other.box.place,
            allowed="all boxes of a table or lockset, and those between them, in one query",
            next_step=f"move box {other.box.name!r} into query {first!r}, or give it a table of its own",
        )
    elif len(nodes) > 1:
        yield Problem(
            f"boxes of {what} are placed on different nodes ({', '.join(sorted(map(str, nodes)))})",
            members[0].box.place,
            allowed="one node, or one replica set, for all boxes of a table",
            next_step="leave `node` out of the boxes",
        )


def _between(member: CheckedBox, what: str) -> Iterator[Problem]:
    box, typed = member.box, member.typed
    kind = getattr(box.spec, "type_name", box.spec.type)
    head = f"box {box.name!r} ({kind}) lies between boxes of {what}"
    if isinstance(typed, TypedLater):
        return
    if not isinstance(typed, BETWEEN):
        yield Problem(
            f"{head}, which work on one row after the other: it would have to hold rows back",
            box.place,
            allowed="filter, map and union between boxes of a table",
            next_step="put it before or behind all boxes of the table, or give the boxes on one side a table of their own",
        )
    elif typed.on_error is OnError.REJECT:
        yield Problem(
            f"{head} and rejects rows",
            box.place,
            allowed="on_error='stop' between boxes of a table",
            next_step="call the function that may fail in a map before the table's boxes",
        )
    elif any(isinstance(node, SqlExpression) for e in typed.expressions() for node in walk(e)):
        yield _only_spark(member, what)
    elif isinstance(typed, TypedUnion) and typed.widens:
        yield Problem(
            f"{head} and unites streams whose fields have different types",
            box.place,
            allowed="inputs of one schema between boxes of a table",
            next_step="convert the fields with a map before it",
        )


def _only_spark(member: CheckedBox, what: str) -> Problem:
    return Problem(
        f"box {member.box.name!r} has an expression in Spark SQL, and boxes of {what} work on one row after the other, without Spark",
        member.box.place,
        allowed="expressions of Auroral's own language there",
        next_step="compute it in a map before the table's boxes, or write it as an expression",
    )


def unwritten(diagram: Diagram, boxes: Iterable[CheckedBox]) -> Iterator[Problem]:
    """Tables that stay as they are, and those that nothing reads."""
    typed = [c.typed for c in boxes if isinstance(c.typed, TypedTableBox)]
    for query in diagram.queries:
        for table in query.tables:
            mine = [one for one in typed if one.table.name == table.name]
            if mine and table.contents is None and not any(one.writes for one in mine):
                yield Problem(
                    f"no box writes table {table.name!r}, and it has no contents: nothing will ever be found in it",
                    table.place,
                    allowed="tables that a box inserts into, or that have contents",
                    next_step="add an insert, or a parameter `contents` with a file",
                )


def members(spec: BoxSpec, name: str) -> tuple[str, ...]:
    """The boxes of the diagram that a checked box stands for."""
    return spec.members if isinstance(spec, Region) else (name,)
