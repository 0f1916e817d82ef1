"""Random messages of every kind."""

from __future__ import annotations

import dataclasses

import pyarrow as pa
from hypothesis import strategies as st

from auroral.dpc.coverage import Coverage, Level
from auroral.dpc.layout import Wiring
from auroral.dpc.states import State
from auroral.dpc.switching import Lane, Offer
from auroral.dpc.values import (
    Ack,
    Ask,
    Confirm,
    Content,
    Decided,
    Gap,
    GiveState,
    Grant,
    Hashes,
    Known,
    Message,
    Ping,
    Pong,
    Prepare,
    Promise,
    Refuse,
    Release,
    Rewire,
    Rewired,
    Snapshot,
    Stable,
    Subscribe,
    Tentative,
    Unsubscribe,
    Want,
    WantState,
)
from auroral.dpc.versions import Decision
from auroral.wire.limits import LARGEST_HASH, LARGEST_NUMBER, LONGEST_TIME, MOST_ROWS

names = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=8)
numbers = st.integers(0, LARGEST_NUMBER)
hashes = st.integers(-1, LARGEST_HASH)
seconds = st.floats(0, LONGEST_TIME)
flags = st.booleans()
tables = st.lists(
    st.tuples(st.integers(-(2**63), 2**63 - 1), st.none() | st.text(max_size=5), st.floats()), max_size=5
).map(
    lambda rows: pa.table(
        {
            "a": pa.array([row[0] for row in rows], pa.int64()),
            "b": pa.array([row[1] for row in rows], pa.string()),
            "c": pa.array([row[2] for row in rows], pa.float64()),
        }
    )
)
batches = tables.filter(lambda table: table.num_rows > 0).map(lambda table: table.combine_chunks().to_batches()[0])


@st.composite
def contents(draw: st.DrawFn) -> Content:
    kind = draw(st.sampled_from(("none", "table", "batch")))
    hash = draw(st.integers(0, LARGEST_HASH))
    if kind == "none":
        return Content(hash, draw(st.integers(0, MOST_ROWS)))
    rows = draw(tables if kind == "table" else batches)
    return Content(hash, rows.num_rows, rows)


@st.composite
def spans(draw: st.DrawFn) -> tuple[tuple[int, int, Level], ...]:
    ends = sorted(draw(st.sets(st.integers(0, 1 << 40), max_size=6)))
    return tuple((begin, end, draw(st.sampled_from(Level))) for begin, end in zip(ends[::2], ends[1::2], strict=False))


@st.composite
def stables(draw: st.DrawFn) -> Stable:
    given = tuple(draw(st.lists(contents(), max_size=3)))
    held = tuple(draw(seconds) for _ in given) if draw(flags) else ()
    return Stable(draw(names), draw(numbers), draw(numbers), given, held)


def named(values: st.SearchStrategy[object]) -> st.SearchStrategy[dict[str, object]]:
    return st.dictionaries(names, values, max_size=3)


def listed(values: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(values, max_size=3).map(tuple)


@st.composite
def decisions(draw: st.DrawFn) -> Decision:
    later = draw(st.sets(st.integers(1, 1 << 40), max_size=4))
    return Decision((0, *sorted(later)), draw(numbers))


BY_KIND: dict[type, st.SearchStrategy[Message]] = {
    Subscribe: st.builds(Subscribe, names, numbers, st.sampled_from(Lane), st.none() | numbers, flags, flags),
    Unsubscribe: st.builds(Unsubscribe, names, numbers),
    Stable: stables(),
    Tentative: st.builds(
        Tentative, names, numbers, numbers, contents(), flags, seconds, st.builds(Coverage, named(spans()))
    ),
    Confirm: st.builds(Confirm, names, numbers, numbers, listed(hashes)),
    Gap: st.tuples(numbers, numbers).flatmap(
        lambda ends: st.builds(Gap, names, numbers, st.just(min(ends)), st.just(max(ends)))
    ),
    Want: st.builds(Want, names, numbers, numbers),
    Ping: st.builds(
        Ping,
        named(st.builds(Ack, numbers, seconds)),
        named(numbers),
        named(st.builds(Hashes, numbers, listed(hashes))),
        seconds,
    ),
    Pong: st.builds(Pong, named(st.builds(Offer, st.sampled_from(State), flags, numbers, numbers)), named(numbers)),
    Ask: st.builds(Ask, numbers, seconds),
    Grant: st.builds(Grant, numbers),
    Refuse: st.builds(Refuse, numbers),
    Release: st.just(Release()),
    WantState: st.builds(WantState, names),
    GiveState: st.builds(GiveState, names, st.builds(Snapshot, numbers, st.none() | contents())),
    Prepare: st.builds(Prepare, numbers, numbers),
    Promise: st.builds(Promise, numbers, numbers, numbers),
    Decided: st.builds(Decided, decisions()),
    Known: st.builds(Known, decisions()),
    Rewire: st.builds(Rewire, numbers, st.builds(Wiring, named(listed(names)), named(listed(names)), listed(names))),
    Rewired: st.builds(Rewired, numbers),
}
messages = st.one_of(*BY_KIND.values())


spoilt_values = st.one_of(
    st.integers(-2, 1),
    st.integers(),
    st.sampled_from((LARGEST_NUMBER + 1, LARGEST_HASH + 1, 10**5000, True, None, "", "a\tb", "\ud800", "x" * 2000)),
    st.text(max_size=3),
    st.floats(),
    st.lists(st.integers(), max_size=3).map(tuple),
    st.dictionaries(st.text(max_size=2), st.integers() | st.text(max_size=2), max_size=2),
    st.just((5, 5, 3)),
)
spoilt_rows = st.sampled_from(
    (
        [1],
        pa.table({"c": pa.array(["x"], pa.string_view())}),
        pa.table({"c": pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff"))}),
        pa.table({"c": pa.Array.from_buffers(pa.date64(), 1, [None, pa.py_buffer(b"\1" + bytes(7))])}),
        pa.table({"c": pa.array([1])}),
        pa.table({}),
    )
)


@st.composite
def spoilt(draw: st.DrawFn) -> Message:
    """A message of any kind with something in it, anywhere, that may not be right."""
    return _spoil(draw, draw(messages))  # type: ignore[no-any-return]


def _spoil(draw: st.DrawFn, value: object) -> object:
    match value:
        case Content() if draw(flags):
            return Content(draw(st.integers(-1, 1)), draw(st.integers(-1, 1)), draw(spoilt_rows))
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type) and dataclasses.fields(value):
            name = draw(st.sampled_from([field.name for field in dataclasses.fields(value) if field.name != "rows"]))
            return dataclasses.replace(value, **{name: _spoil(draw, getattr(value, name))})
        case tuple() if value and draw(flags):
            at = draw(st.integers(0, len(value) - 1))
            return (*value[:at], _spoil(draw, value[at]), *value[at + 1 :])
        case dict() if value and draw(flags):
            name = draw(st.sampled_from(sorted(value)))
            return value | {name: _spoil(draw, value[name])}
        case _:
            return draw(spoilt_values)


def rows_of(message: Message) -> list[pa.RecordBatch | pa.Table | None]:
    match message:
        case Stable(contents=given):
            return [content.rows for content in given]
        case Tentative(content=given):
            return [given.rows]
        case GiveState(snapshot=Snapshot(state=Content() as given)):
            return [given.rows]
        case _:
            return []
