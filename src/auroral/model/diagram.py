"""Diagrams: boxes and streams, grouped into queries, with what enters and what leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from auroral.model.boxes.base import BoxSpec
from auroral.model.errors import Place
from auroral.model.names import LOCAL, Name
from auroral.model.schema import Schema
from auroral.model.tables import Table

DEFAULT_BUCKET = 1_000_000


class Late(StrEnum):
    """What a source does with a row whose bucket is already closed. Each such row counts in the ledger."""

    MOVE = "move"
    """Into the open bucket; its fields, and so its event time, stay as they are."""
    REJECT = "reject"
    """Refused, kept in the log of rejected rows."""
    DROP = "drop"
    """Dropped."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """How a source gives rows their stime.

    With a field: stime = field * unit (microseconds), and the boundary follows the largest stime at a
    distance of `delay`; an input that is silent for `idle_after` follows the clock. Without a field: the
    clock, when the row comes in.
    """

    field: str | None = None
    unit: int = 1
    delay: int = 0
    idle_after: int | None = None


@dataclass(frozen=True, slots=True)
class QueueOptions:
    """Update queues of Borealis files: see `boxes.queue`."""

    update_queue: bool | None = None
    queue_type: int | None = None
    key: str | None = None

    def inherit(self, outer: QueueOptions) -> QueueOptions:
        return QueueOptions(
            self.update_queue if self.update_queue is not None else outer.update_queue,
            self.queue_type if self.queue_type is not None else outer.queue_type,
            self.key if self.key is not None else outer.key,
        )


@dataclass(frozen=True, slots=True)
class Input:
    """With `any_case`, columns of data are its fields whatever their case: names in Borealis files have none."""

    stream: str
    schema: Schema
    stamp: Stamp | None = None
    late: Late = Late.MOVE
    node: str | None = None
    place: Place = field(default=Place(), compare=False)
    any_case: bool = False


@dataclass(frozen=True, slots=True)
class Output:
    """`availability` is X, the bound on added latency in microseconds; None waits for ever.

    `schema` is what was declared. A tentative answer needs `at_least` so many of the inputs `of`, or of all that it is computed from.
    """

    stream: str
    availability: int | None = None
    schema: Schema | None = None
    place: Place = field(default=Place(), compare=False)
    at_least: int | None = None
    of: tuple[str, ...] = ()
    kept: bool = False
    """It is there for a connection point alone: what the point no longer keeps is let go."""


@dataclass(frozen=True, slots=True)
class Box:
    name: str
    spec: BoxSpec
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    node: str | None = None
    queue: QueueOptions = QueueOptions()
    port_queues: tuple[QueueOptions, ...] = ()
    port_views: tuple[str | None, ...] = ()
    access: tuple[str, ...] = ()
    place: Place = field(default=Place(), compare=False)

    @property
    def shares(self) -> tuple[str, ...]:
        """The table or lockset that it has in common with other boxes."""
        shared: tuple[str, ...] = getattr(self.spec, "shares", ())
        return shared

    @property
    def takes_revisions(self) -> bool:
        """Whether it knows what to do with rows that revise others."""
        return bool(getattr(self.spec, "takes_revisions", False))


@dataclass(frozen=True, slots=True)
class ConnectionPointView:
    """History that is kept of a stream: the last `size` rows, or those from `start` to `end` around the newest value of the field `order`, or
    by numbers of rows where there is none. `radius` is how far around these a reader may look: so much more is kept."""

    name: str
    stream: str
    order: str | None = None
    size: int | None = None
    start: int | None = None
    end: int | None = None
    radius: int | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True, slots=True)
class Query:
    """A named group of boxes: the unit of deployment, replication and movement."""

    name: str
    boxes: tuple[Box, ...] = ()
    tables: tuple[Table, ...] = ()
    node: str | None = None
    queue: QueueOptions = QueueOptions()


@dataclass(frozen=True, slots=True)
class Diagram:
    """A loop-free graph of boxes and streams; `bucket` is the bucket interval B in microseconds."""

    name: str
    inputs: tuple[Input, ...] = ()
    outputs: tuple[Output, ...] = ()
    queries: tuple[Query, ...] = ()
    views: tuple[ConnectionPointView, ...] = ()
    schemas: tuple[tuple[str, Schema], ...] = ()
    bucket: int = DEFAULT_BUCKET
    participant: str = LOCAL
    queue: QueueOptions = QueueOptions()

    @property
    def boxes(self) -> Iterator[Box]:
        for query in self.queries:
            yield from query.boxes

    @property
    def tables(self) -> Iterator[Table]:
        for query in self.queries:
            yield from query.tables

    def qualified(self, name: str) -> Name:
        """A name of this diagram as it is known outside: in what is stored, and in what is shown."""
        return Name(self.participant, name)

    def input(self, stream: str) -> Input | None:
        return next((i for i in self.inputs if i.stream == stream), None)

    def output(self, stream: str) -> Output | None:
        return next((o for o in self.outputs if o.stream == stream), None)

    def computed_from(self, stream: str) -> tuple[str, ...]:
        """The inputs that lead to it, in their order: also by way of a table that boxes share."""
        boxes, seen, left = list(self.boxes), set[str](), [stream]
        while left:
            one = left.pop()
            seen.add(one)
            makers = [box for box in boxes if one in box.outputs]
            common = {what for box in makers for what in box.shares}
            makers += [box for box in boxes if common.intersection(box.shares)]
            left += [read for box in makers for read in box.inputs if read not in seen]
        return tuple(given.stream for given in self.inputs if given.stream in seen)

    def to_mermaid(self) -> str:
        """The diagram as mermaid text."""
        from auroral.model.picture import mermaid

        return mermaid(self)

    def to_xml(self, *, strict: bool = False) -> str:
        """The diagram as Borealis XML, which is read again as the same diagram; with `strict`, without words of Auroral's own.

        Raises a DiagramError that names what a text cannot hold, as a Python function.
        """
        from auroral.model.xml.write import write_diagram

        return write_diagram(self, strict=strict)

    def _repr_html_(self) -> str:
        from auroral.model.picture import svg

        return svg(self)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {
            "text/html": self._repr_html_(),
            "text/vnd.mermaid": self.to_mermaid(),
            "text/plain": repr(self),
        }
