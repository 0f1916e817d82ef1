"""Random diagrams of every box that a text can hold, with names of any kind. They need not check: only be written and read."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from auroral.model import types
from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.base import BoxSpec, Source
from auroral.model.boxes.changes import TableChanges
from auroral.model.boxes.combine import Combine
from auroral.model.boxes.drop import RandomDrop, WindowDrop
from auroral.model.boxes.join import ALL, Join, JoinBuffer, JoinKind
from auroral.model.boxes.later import Later
from auroral.model.boxes.local_clock import OnLocalClock
from auroral.model.boxes.locks import Lock, Unlock
from auroral.model.boxes.lrwaitfor import LRWaitFor
from auroral.model.boxes.resample import Resample
from auroral.model.boxes.serialize import SOutput, SUnion
from auroral.model.boxes.sorting import BSort, WSort
from auroral.model.boxes.stateless import Delay, Filter, Map, Union
from auroral.model.boxes.tables import Delete, Exists, Insert, Select, Update
from auroral.model.boxes.waitfor import WaitFor
from auroral.model.boxes.xsection import XSection
from auroral.model.diagram import (
    Box,
    ConnectionPointView,
    Diagram,
    Input,
    Late,
    Output,
    Query,
    QueueOptions,
    Stamp,
)
from auroral.model.expression import sql
from auroral.model.on_error import OnError
from auroral.model.schema import Field, Schema
from auroral.model.tables import Table
from auroral.model.windows import (
    Alignment,
    EventTimeWindow,
    FieldWindow,
    Landmark,
    LatePolicy,
    Runs,
    StimeWindow,
    TupleWindow,
)
from auroral.model.xml.queries import changes_box

PLAIN = st.text("abk_1", min_size=1, max_size=4).filter(lambda name: not name.startswith("__"))
ODD = st.text("aB é,.'\"<&>{}\U0001f600", min_size=1, max_size=6).filter(str.strip)
NAMES = PLAIN | ODD
TYPES = st.sampled_from(
    [
        *(types.INT, types.LONG, types.STRING, types.string(8), types.BOOL, types.decimal(12, 2), types.TIMESTAMP),
        *(types.DOUBLE, types.DATE, types.BINARY, types.BYTE, types.SHORT, types.SINGLE),
    ]
)
TEXTS = st.sampled_from(
    ["v > 1", "K = 'X'", "k = 'a\\\\b'", "k = 'it\\'s'", ' field("Odd Name") = "\\u0001"', "A<b&&c>'<&\"'", "k='\n\t'"]
)
SQLS = st.builds(sql, st.sampled_from(["upper(K)", "v DIV 2", " a = 'x\\'y' "]), st.sampled_from(["bool", "string"]))
SOURCES: st.SearchStrategy[Source] = TEXTS | SQLS
LENGTHS = st.integers(0, 10**13)
SIZES = st.integers(1, 10**12) | st.floats(1e-9, 1e12)
POSITIVE = st.integers(1, 10**9)


def names_of(least: int, most: int = 3) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(NAMES, min_size=least, max_size=most, unique=True).map(tuple)


def pairs(values: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[tuple[str, Any], ...]]:
    return st.lists(st.tuples(NAMES, values), min_size=1, max_size=3).map(tuple)


SCHEMAS = st.lists(st.builds(Field, NAMES, TYPES), max_size=4, unique_by=lambda f: f.name).map(
    lambda fields: Schema(tuple(fields))
)
ALIGNMENTS, OPTIONAL = st.sampled_from(Alignment), st.none() | st.floats(0.001, 1e9)
WINDOWS = st.one_of(
    st.builds(StimeWindow, LENGTHS, LENGTHS, ALIGNMENTS),
    st.builds(FieldWindow, NAMES, SIZES, SIZES, ALIGNMENTS, st.integers(0, 9), OPTIONAL, st.booleans(), st.booleans()),
    st.builds(TupleWindow, POSITIVE, POSITIVE, OPTIONAL, slack=st.integers(0, 9), named=st.booleans()),
    st.builds(TupleWindow, POSITIVE, POSITIVE, OPTIONAL, NAMES, st.integers(0, 9), st.booleans()),
    st.builds(EventTimeWindow, NAMES, *[LENGTHS] * 3, st.sampled_from(LatePolicy), LENGTHS, LENGTHS),
    st.builds(Landmark, st.none() | st.integers(-(10**17), 10**17)),
    st.just(Runs()),
)
CALLS = st.sampled_from(["count()", "sum(V * 2)", "lastval(k)", "LRThing(a, 'B')"])
BUFFERS = st.one_of(
    st.builds(JoinBuffer, LENGTHS),
    st.builds(JoinBuffer, SIZES, NAMES),
    st.builds(JoinBuffer, st.integers(0, 10**9), st.none(), st.just(True)),
    st.just(ALL),
)
RATES = st.floats(0, 1)
SEEDS = st.none() | NAMES
ON_ERRORS = st.sampled_from(OnError)


BOTH = st.tuples(st.booleans(), st.booleans())
TIMEOUTS = st.floats(1e-6, 1e9)
STATEMENTS = {
    Insert: ["insert into T values (input.a, 'B\\\\c')", "insert into t (k) values (input.k + 1)"],
    Select: ["select * from t", "SELECT k as Key FROM t where t.k = INPUT.K order by k desc limit 3"],
    Update: ["update t set v = 'X' where k = input.k"],
    Delete: ["delete from T", "delete from t where v = 'it\\\\'"],
    Exists: ['select * from t where field("Odd Name") = 1'],
}


def statements(box: type[BoxSpec]) -> st.SearchStrategy[str]:
    return st.sampled_from(STATEMENTS[box])


SPECS: st.SearchStrategy[BoxSpec] = st.one_of(
    st.builds(Filter, st.lists(SOURCES, min_size=1, max_size=3).map(tuple), st.booleans(), ON_ERRORS),
    st.builds(Map, pairs(SOURCES), ON_ERRORS),
    st.just(Union()),
    st.builds(Aggregate, pairs(CALLS), WINDOWS, names_of(0), st.none() | NAMES),
    st.builds(
        Join,
        *(SOURCES, BUFFERS, BUFFERS, st.just(()) | pairs(SOURCES), st.sampled_from(JoinKind)),
        *(st.booleans(), st.booleans(), OPTIONAL, BOTH, st.sampled_from(["join", "sjoin", "aurorajoin"])),
    ),
    st.builds(
        Join,
        *(SOURCES, st.just(JoinBuffer(0, tuples=True)), st.just(ALL), st.just(()) | pairs(SOURCES)),
        sides_named=st.booleans(),
        looks=st.just((True, False)),
        type_name=st.just("joinstatic"),
    ),
    st.builds(BSort, names_of(1), st.integers(0, 10**9), names_of(0)),
    st.builds(WSort, names_of(1), TIMEOUTS, names_of(0)),
    st.builds(WaitFor, SOURCES, TIMEOUTS),
    st.builds(Resample, pairs(NAMES), LENGTHS | st.integers(0, 10**18), names_of(0)),
    st.builds(XSection, pairs(CALLS), names_of(1), st.none() | LENGTHS | st.integers(0, 10**18)),
    st.builds(Combine, NAMES, pairs(SOURCES)),
    st.builds(LRWaitFor, NAMES, names_of(0), st.none() | st.floats(-1e12, 1e12), st.booleans()),
    st.builds(Insert, statements(Insert), st.booleans()),
    st.builds(Select, statements(Select), st.booleans(), st.booleans()),
    st.builds(Update, statements(Update), st.booleans(), st.just(()) | pairs(SOURCES)),
    st.builds(Delete, statements(Delete), st.booleans(), st.booleans()),
    st.builds(Exists, statements(Exists)),
    st.builds(Lock, NAMES, names_of(1)),
    st.builds(Unlock, NAMES, names_of(1)),
    st.builds(Delay, st.integers(0, 10**6), st.floats(0, 10), st.sampled_from(["delay", "delay_sel"])),
    st.builds(OnLocalClock, st.builds(WSort, names_of(1), SIZES, names_of(0))),
    st.builds(RandomDrop, RATES, POSITIVE, SEEDS),
    st.builds(WindowDrop, RATES, POSITIVE, LENGTHS, LENGTHS, st.none(), names_of(0), seed=SEEDS),
    st.builds(WindowDrop, RATES, POSITIVE, SIZES, SIZES, NAMES, names_of(0), tuples=st.booleans(), seed=SEEDS),
    st.builds(WindowDrop, RATES, POSITIVE, SIZES, SIZES, NAMES, names_of(0), by_values=st.booleans(), seed=SEEDS),
    st.builds(SOutput),
    st.builds(
        Later,
        st.sampled_from(["sweeper", "connectionpoint", "scontrol"]),
        st.just((("key-field", "K"), ("expression.0", "a = 'B'"))),
    ),
)
SUNIONS = st.builds(
    lambda interval, delays: SUnion(interval, delays, (("location", "input"), ("stagger", "0"))),
    POSITIVE,
    st.lists(st.integers(0, 10**6), min_size=2, max_size=2).map(tuple),
)


@st.composite
def queues(draw: st.DrawFn, outer: QueueOptions) -> QueueOptions:
    if draw(st.integers(0, 3)):
        return outer
    if draw(st.booleans()):
        return QueueOptions(False)
    own = QueueOptions(True, draw(st.none() | st.integers(0, 8)), draw(st.none() | NAMES))
    return own.inherit(outer)


@st.composite
def stamps(draw: st.DrawFn) -> Stamp:
    if draw(st.booleans()):
        return Stamp()
    return Stamp(draw(NAMES), draw(POSITIVE), draw(LENGTHS), draw(st.none() | LENGTHS))


@st.composite
def diagrams(draw: st.DrawFn) -> Diagram:
    streams = draw(st.lists(NAMES, min_size=4, max_size=9, unique_by=lambda name: name.strip().lower()))
    sources, made = streams[:2], streams[2:]
    boxes = draw(st.lists(NAMES, min_size=len(made), max_size=len(made), unique=True))
    any_case = draw(st.booleans())
    outer = draw(queues(QueueOptions()))
    held = draw(names_of(0, 2))
    queries = []
    for number, name in enumerate(draw(names_of(1, 3))):
        queue = draw(queues(outer))
        mine = range(number, len(made), 3)
        own = tuple(draw(tables(table, at)) for at, table in enumerate(held)) if number == 0 else ()
        asked = (changes_box(table, table.changes_stream) for table in own if table.changes_stream is not None)
        queries.append(
            Query(
                name,
                (*(draw(a_box(boxes[at], streams, made[at], held, queue)) for at in mine), *asked),
                own,
                draw(st.none() | PLAIN),
                queue,
            )
        )
    views = st.builds(
        ConnectionPointView,
        *(NAMES, st.sampled_from(streams), st.none() | NAMES, st.none() | POSITIVE, st.none(), st.none()),
        *(st.none() | POSITIVE, st.just(()) | st.just((("x", " Y "),))),
    )
    return Diagram(
        draw(NAMES),
        tuple(
            Input(
                *(source, draw(SCHEMAS), draw(stamps()), draw(st.sampled_from(Late)), draw(st.none() | PLAIN)),
                any_case=any_case,
            )
            for source in sources
        ),
        tuple(draw(outputs(stream, sources)) for stream in made[:2]),
        tuple(queries),
        tuple(draw(st.lists(views, max_size=2, unique_by=lambda view: view.name))),
        bucket=draw(st.integers(1, 10**10)),
        participant=draw(st.just("local") | PLAIN),
        queue=outer,
    )


@st.composite
def outputs(draw: st.DrawFn, stream: str, sources: list[str]) -> Output:
    least = draw(st.none() | st.integers(1, 2))
    of = tuple(draw(st.lists(st.sampled_from(sources), max_size=2, unique=True))) if least is not None else ()
    return Output(stream, draw(st.none() | POSITIVE), draw(st.none() | SCHEMAS), at_least=least, of=of)


@st.composite
def a_box(draw: st.DrawFn, name: str, streams: list[str], made: str, held: tuple[str, ...], outer: QueueOptions) -> Box:
    if held and not draw(st.integers(0, 7)):
        table = draw(st.sampled_from(held))
        own = draw(queues(outer))
        return Box(name, TableChanges(table), (), (made,), draw(st.none() | PLAIN), own, access=(table,))
    spec = draw(SPECS | SUNIONS)
    inputs = tuple(draw(st.lists(st.sampled_from(streams), min_size=2, max_size=2)))
    queue = draw(queues(outer))
    ports = tuple(draw(queues(queue)) for _ in inputs)
    return Box(
        *(name, spec, inputs, (made,), draw(st.none() | PLAIN), queue),
        port_queues=ports if any(port != queue for port in ports) else (),
        access=tuple(draw(st.lists(st.sampled_from(held), max_size=2))) if held else (),
    )


@st.composite
def tables(draw: st.DrawFn, name: str, number: int) -> Table:
    fields = draw(st.lists(PLAIN, min_size=1, max_size=3, unique=True))
    schema = Schema(tuple(Field(field, types.INT) for field in fields))
    asked = [(("type", "BTree"), ("create", "1")), (("contents", " Rows.csv"),), (("changes", f"chg_{number}"),)]
    parameters = draw(st.sampled_from([(), *asked]))
    return Table(name, schema, (fields[0],), tuple(fields[1:]), draw(st.none() | NAMES), None, parameters)
