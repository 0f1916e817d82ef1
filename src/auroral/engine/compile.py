"""A diagram as Spark SQL: one common table expression a step, in the order of the diagram."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from auroral.engine.aggregate_sql import event_time_aggregate, stime_aggregate, stime_aggregate_of_rows
from auroral.engine.expression import to_sql
from auroral.engine.join_sql import join
from auroral.engine.relations import Edge, kept_name, stream_columns
from auroral.engine.scans import PythonBox, python_box
from auroral.engine.sqltext import (
    SEQ,
    STIME,
    Column,
    Cte,
    columns,
    falls_below,
    floor_div,
    order_column,
    quoted,
    select,
    string_literal,
)
from auroral.model.boxes.aggregate import TypedEventTimeAggregate, TypedStimeAggregate
from auroral.model.boxes.apply import TypedApply
from auroral.model.boxes.drop import TypedRandomDrop, TypedWindowDrop
from auroral.model.boxes.join import TypedJoin
from auroral.model.boxes.serialize import TypedSUnion
from auroral.model.boxes.stateless import TypedFilter, TypedIdentity, TypedMap, TypedUnion
from auroral.model.checking import Checked, CheckedBox
from auroral.model.expression import Function, Typed, user_functions
from auroral.model.stream import StreamType

PAST = "@past"


@dataclass(frozen=True, slots=True)
class Both:
    """A relation of which rows with `__l` = -1 are rows of stream `output` and the others rows of the kept edge `kept`.

    Small jobs fetch it once, where two statements would compute it twice; `wave` orders jobs that need one another's rows.
    """

    relation: str
    output: Edge
    kept: Edge


@dataclass(frozen=True, slots=True)
class Step:
    """What an input or a box adds: SQL steps, or a scan in Python over SQL inputs that gives further views."""

    name: str
    ctes: tuple[Cte, ...] = ()
    python: PythonBox | None = None
    inputs: tuple[str, ...] = ()
    wave: int = 0
    both: Both | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled diagram. Statements take the parameters :lo and :hi, the range of stime that is evaluated.

    `sources` and `kept` are read (with their past); `kept` and `outputs` are written. Ledger counts are `shed` and `late`
    relations by box.
    """

    checked: Checked
    sources: tuple[Edge, ...]
    kept: tuple[Edge, ...]
    outputs: tuple[Edge, ...]
    steps: tuple[Step, ...]
    counts: tuple[tuple[str, str, str], ...]
    functions: tuple[Function, ...]
    batch: bool
    single: bool

    @property
    def edges(self) -> tuple[Edge, ...]:
        return (*self.sources, *self.kept)


def compile_program(checked: Checked, *, single: bool = False, batch: bool = False, many_bins: bool = True) -> Program:
    """`single` keeps everything in one partition (small jobs); `batch` compiles the oracle: no slices, no stored past.

    Without `many_bins`, see `states.box_state`.
    """
    return Compiler(checked.runnable(), single, batch, many_bins).program()


@dataclass(slots=True)
class Compiler:
    checked: Checked
    single: bool
    batch: bool
    many_bins: bool = True
    past: dict[str, int] = field(default_factory=dict)
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
            steps.append(replace(step, inputs=box.box.inputs, wave=wave))
            # What an aggregate over slices gives is fetched, and read by jobs of the next wave.
            waves.update(dict.fromkeys(box.box.outputs, wave + (step.both is not None)))
        outputs = tuple(
            Edge(output.stream, stream_columns(self.checked.streams[output.stream], False))
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
            self.batch,
            self.single,
        )

    def _needs(self) -> None:
        """From the outputs backwards: which streams carry their order key, and how much of their past is read."""
        for checked in reversed(self.checked.boxes):
            box, typed = checked.box, checked.typed
            passes = not isinstance(typed, TypedStimeAggregate | TypedEventTimeAggregate | TypedApply)
            wanted = typed.order_sensitive or (passes and any(stream in self.ordered for stream in box.outputs))
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
                    self.past[stream] = max(self.past.get(stream, 0), typed.past)

    def stream(self, name: str) -> StreamType:
        return self.checked.streams[name]

    def columns(self, stream: str) -> tuple[Column, ...]:
        return stream_columns(self.stream(stream), stream in self.ordered)

    def order(self, stream: str) -> list[Column]:
        return [Column(order_column(i), t.spark) for i, t in enumerate(self.stream(stream).order)]

    def with_past(self, stream: str) -> str:
        """The relation that has the stream's past as well as the range itself."""
        return quoted(stream + PAST) if stream in self.past else quoted(stream)

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
        cut = "" if self.single and stream not in self.past else f"WHERE {STIME} >= :lo AND {STIME} < :hi"
        ctes = [Cte(stream, select(items, quoted(edge.name), cut))]
        if stream in self.past:
            ctes.append(Cte(stream + PAST, select(items, quoted(edge.name), f"WHERE {STIME} < :hi")))
        return Step(stream, tuple(ctes))

    def _step(self, checked: CheckedBox) -> Step:
        scan = python_box(checked, self)
        if scan is not None:
            return Step(
                checked.box.name,
                tuple(c for stream in checked.box.outputs for c in self._past_cte(stream)),
                scan,
            )
        ctes = list(self._ctes(checked))
        both = None
        if self.single and f"{checked.box.name}@slices" in self.kept:
            stream = checked.box.outputs[0]
            both = Both(
                f"{checked.box.name}@both", Edge(stream, self.columns(stream)), self.kept[f"{checked.box.name}@slices"]
            )
        for stream in checked.box.outputs:
            ctes += self._past_cte(stream)
        return Step(checked.box.name, tuple(ctes), both=both)

    def _past_cte(self, stream: str) -> Sequence[Cte]:
        """A stream whose past is read later is kept; its past and the range together are one relation."""
        if stream not in self.past:
            return ()
        edge = self.keep(Edge(stream, self.columns(stream), self.past[stream]))
        names = ", ".join(columns(column.name for column in edge.columns))
        stored = quoted(kept_name(edge))
        return (
            Cte(
                stream + PAST,
                f"SELECT {self.one_partition}{names} FROM (SELECT {names} FROM {stored} UNION ALL SELECT {names} FROM {quoted(stream)})",
            ),
        )

    def _ctes(self, checked: CheckedBox) -> Sequence[Cte]:
        box, typed = checked.box, checked.typed
        match typed:
            case TypedFilter():
                return self._filter(box.inputs[0], box.outputs, typed)
            case TypedMap():
                source = box.inputs[0]
                mapped = [f"{self.sql(t, source)} AS {quoted(name)}" for name, t in typed.columns]
                return [Cte(box.outputs[0], select([*self.head(source, box.outputs[0]), *mapped], quoted(source)))]
            case TypedSUnion():
                return [self._nothing(box.outputs[0]), self._union(box.inputs, box.outputs[1])]
            case TypedUnion():
                return [self._union(box.inputs, box.outputs[0])]
            case TypedIdentity():
                return self._identity(checked, typed)
            case TypedStimeAggregate():
                make = stime_aggregate_of_rows if self.batch else stime_aggregate
                return make(self, checked, typed)
            case TypedEventTimeAggregate():
                return event_time_aggregate(self, checked, typed)
            case TypedJoin():
                return join(self, checked, typed)
            case TypedRandomDrop():
                return self._random_drop(checked, typed)
            case TypedWindowDrop():
                return self._window_drop(checked, typed)
            case _:
                raise AssertionError(f"no SQL for {typed}")

    def head(self, source: str, target: str) -> list[str]:
        """stime and, where the target needs it, the order key that it shares with its source."""
        return [STIME, *(c.name for c in self.order(source) if target in self.ordered)]

    def sql(self, typed: Typed, source: str) -> str:
        schema = self.stream(source).schema
        return to_sql(typed, lambda _, name: STIME if name == "stime" and schema.get(name) is None else quoted(name))

    def _filter(self, source: str, targets: Sequence[str], typed: TypedFilter) -> list[Cte]:
        ctes = []
        earlier: list[str] = []
        for position, target in enumerate(targets):
            tests = [f"({sql}) IS NOT TRUE" for sql in earlier]
            if position < len(typed.predicates):
                predicate = self.sql(typed.predicates[position], source)
                tests.append(f"({predicate})" if tests else predicate)
                earlier.append(predicate)
            fields = columns(self.stream(source).schema.names)
            ctes.append(
                Cte(
                    target,
                    select([*self.head(source, target), *fields], quoted(source), "WHERE " + " AND ".join(tests)),
                )
            )
        return ctes

    def _union(self, sources: Sequence[str], target: str) -> Cte:
        schema = self.stream(target).schema
        parts = []
        for index, source in enumerate(sources):
            items = [STIME]
            if target in self.ordered:
                items += [f"{value} AS {order_column(i)}" for i, value in enumerate(self._union_order(sources, index))]
            for f, own in zip(schema.fields, self.stream(source).schema.fields, strict=True):
                same = own.type.spark == f.type.spark
                items.append(
                    quoted(f.name) if same else f"CAST({quoted(f.name)} AS {f.type.spark}) AS {quoted(f.name)}"
                )
            parts.append(select(items, quoted(source)))
        if len(parts) == 1:
            return Cte(target, parts[0])
        return Cte(target, f"SELECT {self.one_partition}* FROM (\n" + "\nUNION ALL\n".join(parts) + "\n)")

    def _union_order(self, sources: Sequence[str], index: int) -> list[str]:
        values = [str(index)]
        for position, source in enumerate(sources):
            for column in self.order(source):
                values.append(column.name if position == index else f"CAST(NULL AS {column.type})")
        return values

    def _nothing(self, stream: str) -> Cte:
        return Cte(stream, f"SELECT CAST(NULL AS BIGINT) AS {STIME} WHERE FALSE")

    def _identity(self, checked: CheckedBox, typed: TypedIdentity) -> list[Cte]:
        ctes = []
        for port, target in enumerate(checked.box.outputs):
            if port not in typed.data_ports:
                ctes.append(self._nothing(target))
                continue
            source = checked.box.inputs[typed.data_ports.index(port)]
            items = [*self.head(source, target), *columns(self.stream(source).schema.names)]
            pause = f"WHERE java_method('java.lang.Thread', 'sleep', {typed.cost_ms}L) IS NOT NULL"
            ctes.append(Cte(target, select(items, quoted(source), pause if typed.cost_ms and not self.batch else "")))
        return ctes

    def _random_drop(self, checked: CheckedBox, typed: TypedRandomDrop) -> list[Cte]:
        source, target = checked.box.inputs[0], checked.box.outputs[0]
        names = columns(self.stream(source).schema.names)
        order = ", ".join(c.name for c in self.order(source)) if source in self.ordered else "0"
        equal = ", ".join([STIME, *names])
        numbered = f"{checked.box.name}@numbered"
        hashed = f"xxhash64({', '.join([string_literal(typed.seed), STIME, *names, '__n'])})"
        ordinal = f"CAST(row_number() OVER (PARTITION BY {equal} ORDER BY {order}) - 1 AS BIGINT) AS __n"
        self._shed(checked, numbered, falls_below(hashed, typed.rate))
        head = [c.name for c in self.columns(source)]
        return [
            Cte(numbered, select([*columns(head), ordinal], quoted(source))),
            Cte(
                target,
                select(
                    columns(c.name for c in self.columns(target)),
                    quoted(numbered),
                    f"WHERE NOT {falls_below(hashed, typed.rate)}",
                ),
            ),
        ]

    def _window_drop(self, checked: CheckedBox, typed: TypedWindowDrop) -> list[Cte]:
        source, target = checked.box.inputs[0], checked.box.outputs[0]
        groups = columns(typed.group_by)
        moved = f"{STIME} - {typed.phase}L" if typed.phase else STIME
        first, last = (
            floor_div(f"{moved} - {typed.size}L", typed.advance) + " + 1",
            floor_div(moved, typed.advance),
        )
        hashed = f"xxhash64({', '.join([string_literal(typed.seed), *groups, 'm'])})"
        batches = f"sequence({floor_div(first, typed.batch)}, {floor_div(last, typed.batch)})"
        dropped = f"forall({batches}, m -> {falls_below(hashed, typed.rate)})"
        self._shed(checked, source, dropped)
        items = [*self.head(source, target), *columns(self.stream(source).schema.names)]
        return [Cte(target, select(items, quoted(source), f"WHERE NOT {dropped}"))]

    def _shed(self, checked: CheckedBox, relation: str, condition: str) -> None:
        self.count(checked, "shed", f"SELECT count(*) FROM {quoted(relation)} WHERE {condition}")

    def count(self, checked: CheckedBox, reason: str, query: str) -> None:
        """Rows that a box leaves out are counted for the ledger by a query of their own over the same steps."""
        self.counts.append((checked.box.name, reason, query))
