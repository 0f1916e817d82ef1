"""What can be wrong with a region, and with tables that nothing writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from auroral.model.boxes.changes import TypedChanges
from auroral.model.boxes.later import TypedLater
from auroral.model.boxes.locks import TypedLockBox
from auroral.model.boxes.stateless import TypedFilter, TypedIdentity, TypedMap, TypedUnion
from auroral.model.boxes.tables import TypedTableBox
from auroral.model.diagram import Diagram
from auroral.model.errors import Problem
from auroral.model.expression.typed import SqlExpression, walk
from auroral.model.on_error import OnError
from auroral.model.regions import shared
from auroral.model.window_samples import CheckedBox

BETWEEN = TypedFilter | TypedMap | TypedUnion | TypedIdentity


def led_back(region: CheckedBox) -> Problem:
    what = getattr(region.box.spec, "type_name", region.box.name)
    return Problem(
        f"changes of a table lead back to it: {what}",
        region.box.place,
        allowed="changes that go to outputs, and to boxes from which no way leads back to the table",
        next_step="take what the box before the table gives, and not the changes of the table",
    )


def region_problems(diagram: Diagram, boxes: Sequence[CheckedBox], region: Sequence[int]) -> Iterator[Problem]:
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
    yield from _waiting_for_themselves(members)
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


def _waiting_for_themselves(members: Sequence[CheckedBox]) -> Iterator[Problem]:
    """A row that holds its key and meets a second lock of it waits until it is freed, which no other row may ever do."""
    locks = [(c, c.typed) for c in members if isinstance(c.typed, TypedLockBox) and c.typed.locks]
    for one, typed in locks:
        same = {
            c.box.name
            for c, other in locks
            if c is not one and (other.lockset, other.key) == (typed.lockset, typed.key)
        }
        frees = {c.box.name for c in members if _frees(c, typed.lockset)}
        holding = [c for c in members if c.box.name in same and one.box.name in _behind(members, c.box.outputs, frees)]
        given = {stream for c in members for stream in c.box.outputs}
        elsewhere = _behind(members, [s for c in members for s in c.box.inputs if s not in given], {one.box.name})
        if holding and frees.isdisjoint(elsewhere - {one.box.name}):
            first = holding[0].box.name
            yield Problem(
                f"rows that passed lock {first!r} hold their key of lockset {typed.lockset!r}, and wait for it for ever in lock {one.box.name!r}: "
                "only rows behind it unlock one",
                one.box.place,
                allowed="a second lock of other key fields or another lockset, behind an unlock, or with an unlock that other rows come to",
                next_step=f"leave lock {one.box.name!r} out, or give it a lockset of its own",
            )


def _frees(member: CheckedBox, lockset: str) -> bool:
    return isinstance(member.typed, TypedLockBox) and not member.typed.locks and member.typed.lockset == lockset


def _behind(members: Sequence[CheckedBox], streams: Iterable[str], up_to: set[str]) -> set[str]:
    """The boxes that rows of these streams come to, as far as these boxes."""
    found, left = set[str](), list(streams)
    while left:
        stream = left.pop()
        for c in members:
            if stream in c.box.inputs and c.box.name not in found:
                found.add(c.box.name)
                left += [] if c.box.name in up_to else c.box.outputs
    return found


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
