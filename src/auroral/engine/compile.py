"""A diagram as Spark SQL: one common table expression a step, in the order of the diagram."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from auroral.engine.drop_sql import random_drop, window_drop
from auroral.engine.event_time_sql import event_time_aggregate, late_rows
from auroral.engine.expression import to_sql
from auroral.engine.foldbox import FoldBox
from auroral.engine.join_sql import join
from auroral.engine.queue_sql import queued
from auroral.engine.relations import Both, Edge, SliceEdge, kept_name, stream_columns
from auroral.engine.revised_window_sql import revised_aggregate, revised_join
from auroral.engine.revision_sql import revisable, settled, time_sql
from auroral.engine.scans import PythonBox, python_box
from auroral.engine.slice_sql import stime_aggregate, stime_aggregate_of_rows
from auroral.engine.sqltext import (
    HI,
    LO,
    SEQ,
    STIME,
    Column,
    ColumnText,
    Cte,
    columns,
    order_column,
    quoted,
    relation,
    select,
)
from auroral.engine.stateless_sql import filtered, mapped, unchanged, united
from auroral.engine.waitfor_sql import waitfor
from auroral.model.boxes.aggregate import TypedEventTimeAggregate, TypedRevisedAggregate, TypedStimeAggregate
from auroral.model.boxes.apply import TypedApply
from auroral.model.boxes.base import TypedBox
from auroral.model.boxes.drop import TypedRandomDrop, TypedWindowDrop
from auroral.model.boxes.join import TypedJoin, TypedRevisedJoin
from auroral.model.boxes.queue import TypedQueue
from auroral.model.boxes.revisable import TypedRevisable, TypedSettled
from auroral.model.boxes.stateless import TypedFilter, TypedIdentity, TypedMap, TypedUnion
from auroral.model.boxes.waitfor import TypedWaitFor
from auroral.model.checking import Checked, CheckedBox
from auroral.model.expression import Function, Typed, user_functions
from auroral.model.stream import StreamType

PAST = "@past"


@dataclass(frozen=True, slots=True)
class Step:
    """What an input or a box adds: SQL steps, or a scan in Python over SQL inputs that gives further views."""

    name: str
    ctes: tuple[Cte, ...] = ()
    python: PythonBox | None = None
    inputs: tuple[str, ...] = ()
    wave: int = 0
    both: Both | None = None
    fold: FoldBox | None = None
    """To be run in this process, over rows that are fetched."""
    behind: tuple[Cte, ...] = ()
    """Steps over the output of `both` or `fold`, which is a relation only once it was fetched."""
    gives: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    """Relations that are computed once and held, since much of what is behind reads them several times."""

    @property
    def fetches(self) -> bool:
        return self.both is not None or self.fold is not None


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled diagram. Statements take the slots LO and HI, the range of stime that is evaluated.

    `sources` and `kept` are read (with their past); `kept` and `outputs` are written. Ledger counts are queries by
    box and reason.
    """

    checked: Checked
    sources: tuple[Edge, ...]
    kept: tuple[Edge, ...]
    outputs: tuple[Edge, ...]
    steps: tuple[Step, ...]
    counts: tuple[tuple[str, str, str], ...]
    functions: tuple[Function, ...]
    single: bool

    @property
    def edges(self) -> tuple[Edge, ...]:
        return (*self.sources, *self.kept)


def compile_program(
    checked: Checked,
    *,
    single: bool = False,
    batch: bool = False,
    many_bins: bool = True,
    folds_from: int | None = None,
    counts_from: int | None = None,
    ordered: Iterable[str] = (),
    gathered: bool = False,
) -> Program:
    """`single` keeps everything in one partition (small jobs), where windows gather their rows first if `gathered` (middling ones);
    `batch` compiles the oracle: no slices, no stored past.

    An oracle over a part of the input has folds that take up their state at `folds_from` and see rows from there on, and
    ledger counts of rows from `counts_from` on. Without `many_bins`, see `states.box_state`. Outputs in `ordered` have their order
    key behind the stime: their rows can be put in processing order.
    """
    given = frozenset(ordered)
    return Compiler(checked.runnable(), single, batch, many_bins, folds_from, counts_from, given, gathered).program()


def needs_order(checked: Checked, ordered: Iterable[str] = ()) -> frozenset[str]:
    """The inputs of which it matters in which order rows with the same stime are, where it matters of these outputs."""
    compiler = Compiler(checked, single=True, batch=False, given_ordered=frozenset(ordered))
    compiler._needs()
    return frozenset(given.stream for given in checked.diagram.inputs if given.stream in compiler.ordered)


def _same_order(checked: CheckedBox) -> Sequence[str]:
    """The outputs whose order key is made from that of the input."""
    match checked.typed:
        case TypedStimeAggregate() | TypedApply() | TypedRevisable() | TypedRevisedAggregate() | TypedSettled():
            return ()
        case TypedEventTimeAggregate():
            # Rows that came too late are given out as they are.
            return checked.box.outputs[1:]
        case _:
            return checked.box.outputs


def _held(checked: CheckedBox) -> tuple[str, ...]:
    match checked.typed:
        case TypedRevisable():
            return (f"{checked.box.name}@done",)
        case TypedRevisedAggregate() | TypedRevisedJoin():
            return checked.box.outputs
        case _:
            return ()


def _over_the_past(ctes: Sequence[Cte], inputs: Sequence[str]) -> Iterator[Cte]:
    """The steps of a stateless box, with the past of its inputs in place of the range."""
    read = [*inputs, *(cte.name for cte in ctes)]
    for cte in ctes:
        text = cte.select
        for name in read:
            text = text.replace(relation(name), relation(name + PAST))
        yield Cte(cte.name + PAST, text)


@dataclass(slots=True)
class Compiler:
    checked: Checked
    single: bool
    batch: bool
    many_bins: bool = True
    folds_from: int | None = None
    counts_from: int | None = None
    given_ordered: frozenset[str] = frozenset()
    gathered: bool = False
    past: dict[str, int] = field(default_factory=dict)
    again: set[str] = field(default_factory=set)
    """Streams whose past is not kept but computed again."""
    ordered: set[str] = field(default_factory=set)
    kept: dict[str, Edge] = field(default_factory=dict)
    counts: list[tuple[str, str, str]] = field(default_factory=list)

    def program(self) -> Program:
        self._needs()
        sources = tuple(self._source_edge(given.stream) for given in self.checked.diagram.inputs)
        steps = [self._source_step(edge) for edge in sources]
        waves: dict[str, int] = {}
        for box in self.checked.boxes:
            step = self._step(box)
            wave = max((waves.get(stream, 0) for stream in box.box.inputs), default=0)
            steps.append(replace(step, inputs=box.box.inputs, gives=box.box.outputs, wave=wave))
            # What an aggregate over slices or a fold gives is fetched, and read by jobs of the next wave.
            waves.update(dict.fromkeys(box.box.outputs, wave + step.fetches))
        outputs = tuple(
            Edge(output.stream, stream_columns(self.stream(output.stream), output.stream in self.given_ordered))
            for output in self.checked.diagram.outputs
        )
        used = {f.name: f for box in self.checked.boxes for e in box.typed.expressions() for f in user_functions(e)}
        return Program(
            self.checked,
            sources,
            tuple(self.kept.values()),
            outputs,
            tuple(steps),
            tuple(self.counts),
            tuple(used.values()),
            self.single,
        )

    def _needs(self) -> None:
        """From the outputs backwards: which streams carry their order key, and how much of their past is read."""
        self.ordered |= self.given_ordered
        for checked in reversed(self.checked.boxes):
            box, typed = checked.box, checked.typed
            wanted = typed.order_sensitive or any(stream in self.ordered for stream in _same_order(checked))
            if isinstance(typed, TypedRandomDrop):
                # Zeros of both signs make equal rows that are not the same: which of them is the first one matters.
                wanted = wanted or any(f.type.is_float for f in self.stream(box.inputs[0]).schema.fields)
            reads_past = typed.past and not (
                isinstance(typed, TypedStimeAggregate) and python_box(checked, self) is None
            )
            for stream in box.inputs:
                if wanted:
                    self.ordered.add(stream)
                if reads_past and not self.batch:
                    self._keep_past(stream, typed.past, self._anchors(typed))
        self.again.difference_update(self.past)

    def _anchors(self, typed: TypedBox) -> frozenset[str] | None:
        """The streams at which a box that corrects from upstream has its history; None of any other box."""
        if not isinstance(typed, TypedRevisedAggregate) or typed.anchors is None:
            return None
        return frozenset(view.stream for view in self.checked.diagram.views if view.name in typed.anchors)

    def _keep_past(self, stream: str, past: int, anchors: frozenset[str] | None) -> None:
        """Its past is kept; or, for a box that corrects from anchors, that of streams before it, from which it can be computed again."""
        maker = None if anchors is None or stream in anchors else self.checked.producer(stream)
        if maker is None or not isinstance(maker[0].typed, TypedFilter | TypedMap | TypedUnion | TypedIdentity):
            self.past[stream] = max(self.past.get(stream, 0), past)
            return
        self.again.add(stream)
        for before in maker[0].box.inputs:
            self._keep_past(before, past, anchors)

    def stream(self, name: str) -> StreamType:
        return self.checked.streams[name]

    def columns(self, stream: str) -> tuple[Column, ...]:
        return stream_columns(self.stream(stream), stream in self.ordered)

    def order(self, stream: str) -> list[Column]:
        return [Column(order_column(i), t.spark) for i, t in enumerate(self.stream(stream).order)]

    def with_past(self, stream: str) -> str:
        """The relation that has the stream's past as well as the range itself."""
        return relation(stream + PAST if stream in self.past or stream in self.again else stream)

    def keep(self, edge: Edge) -> Edge:
        self.kept[edge.name] = edge
        return edge

    @property
    def one_partition(self) -> str:
        """A union of one-partition inputs has several partitions; this makes it one again, which spares an exchange."""
        return "/*+ COALESCE(1) */ " if self.single else ""

    def _source_edge(self, stream: str) -> Edge:
        fields = tuple(Column(f.name, f.type.spark) for f in self.stream(stream).schema.fields)
        return Edge(
            stream + "@source",
            (Column(STIME, "BIGINT"), Column(SEQ, "BIGINT"), *fields),
            self.past.get(stream, 0),
        )

    def _source_step(self, edge: Edge) -> Step:
        stream = edge.name.removesuffix("@source")
        order = [f"{SEQ} AS {order_column(0)}"] if stream in self.ordered else []
        items = [STIME, *order, *columns(self.stream(stream).schema.names)]
        # A small job is handed just the rows of its range, unless the past is needed as well.
        cut = "" if self.single and stream not in self.past else f"WHERE {STIME} >= {LO} AND {STIME} < {HI}"
        ctes = [Cte(stream, select(items, relation(edge.name), cut))]
        if stream in self.past:
            ctes.append(Cte(stream + PAST, select(items, relation(edge.name), f"WHERE {STIME} < {HI}")))
        return Step(stream, tuple(ctes), gives=(stream,))

    def _step(self, checked: CheckedBox) -> Step:
        box, typed, scan = checked.box, checked.typed, python_box(checked, self)
        if scan is None:
            ctes = self._ctes(checked)
        elif isinstance(scan, FoldBox):
            ctes = scan.behind
        else:
            ctes = late_rows(self, checked, typed) if isinstance(typed, TypedEventTimeAggregate) else []
        past = tuple(cte for stream in box.outputs for cte in self._past_cte(stream))
        if self.again.intersection(box.outputs):
            past += tuple(_over_the_past(ctes, box.inputs))
        if self.single and isinstance(scan, FoldBox):
            return Step(box.name, fold=scan, behind=(*scan.behind, *past))
        slices = self.kept.get(f"{box.name}@slices")
        if not (self.single and isinstance(slices, SliceEdge)):
            return Step(box.name, (*ctes, *past), scan, held=_held(checked))
        stream = box.outputs[0]
        both = Both(f"{box.name}@both", Edge(stream, self.columns(stream)), slices)
        return Step(box.name, tuple(ctes), both=both, behind=past)

    def _past_cte(self, stream: str) -> Sequence[Cte]:
        """A stream whose past is read later is kept; its past and the range together are one relation."""
        if stream not in self.past:
            return ()
        edge = self.keep(Edge(stream, self.columns(stream), self.past[stream]))
        names = ", ".join(columns(column.name for column in edge.columns))
        parts = " UNION ALL ".join(f"SELECT {names} FROM {relation(part)}" for part in (kept_name(edge), stream))
        return (Cte(stream + PAST, f"SELECT {self.one_partition}{names} FROM ({parts})"),)

    def _ctes(self, checked: CheckedBox) -> Sequence[Cte]:
        typed = checked.typed
        match typed:
            case TypedFilter():
                return filtered(self, checked, typed)
            case TypedMap():
                return mapped(self, checked, typed)
            case TypedUnion():
                return united(self, checked, typed)
            case TypedIdentity():
                return unchanged(self, checked, typed)
            case TypedStimeAggregate():
                make = stime_aggregate_of_rows if self.batch else stime_aggregate
                return make(self, checked, typed)
            case TypedEventTimeAggregate():
                return event_time_aggregate(self, checked, typed)
            case TypedJoin():
                return join(self, checked, typed)
            case TypedQueue():
                return queued(self, checked, typed)
            case TypedRevisable():
                return revisable(self, checked, typed)
            case TypedSettled():
                return settled(self, checked, typed)
            case TypedRevisedAggregate():
                return revised_aggregate(self, checked, typed)
            case TypedRevisedJoin():
                return revised_join(self, checked, typed)
            case TypedWaitFor():
                return waitfor(self, checked, typed)
            case TypedRandomDrop():
                return random_drop(self, checked, typed)
            case TypedWindowDrop():
                return window_drop(self, checked, typed)
            case _:
                raise AssertionError(f"no SQL for {typed}")

    def head(self, source: str, target: str) -> list[str]:
        """stime and, where the target needs it, the order key that it shares with its source."""
        return [STIME, *(c.name for c in self.order(source) if target in self.ordered)]

    def sql(self, typed: Typed, source: str) -> str:
        return to_sql(typed, self.column(source))

    def column(self, source: str) -> ColumnText:
        """How expressions over rows of one stream name its fields: the stime of a revision is that of the row that it revises."""
        stream = self.stream(source)
        stime = STIME if stream.kept is None else time_sql()
        return lambda _, name: stime if name == "stime" and stream.schema.get(name) is None else quoted(name)

    def count(self, checked: CheckedBox, reason: str, counted: str, condition: str) -> None:
        """Rows that a box leaves out are counted for the ledger, by bucket, by a query of their own over the same steps."""
        since = f" AND {STIME} >= {self.counts_from}L" if self.counts_from is not None else ""
        bucket = f"{STIME} - pmod({STIME}, {self.checked.diagram.bucket}L)"
        # Behind a relation, `WHERE (NAME)` alone would be an alias with a column.
        where = f"WHERE TRUE AND ({condition}){since}"
        query = f"SELECT {bucket} AS at, count(*) AS n FROM {relation(counted)} {where} GROUP BY {bucket}"
        self.counts.append((checked.box.name, reason, query))
