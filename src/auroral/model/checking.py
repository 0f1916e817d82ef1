"""Checking a diagram: types of all streams, box by box, and everything that is wrong, at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from auroral.model.boxes.base import BoxClass, NotStime, Report
from auroral.model.boxes.later import Later, NotYet, TypedLater, later
from auroral.model.declared import against_declared
from auroral.model.diagram import Box, Diagram, Input, Output
from auroral.model.errors import DiagramError, Place, Problem, unknown_name
from auroral.model.expression import Functions, default_functions, impure_functions
from auroral.model.history import with_kept_streams
from auroral.model.implied_revisions import with_implied_revisions
from auroral.model.kept import unknown_kept_fields
from auroral.model.lost_time import lost_time
from auroral.model.naming import name_problems, placed, produced
from auroral.model.ordering import ordered
from auroral.model.queues import behind_queues, idle_queues, queue_name, queues_of
from auroral.model.region_building import with_regions
from auroral.model.region_checks import unwritten
from auroral.model.stream import CONTROL, ClockField, StreamType
from auroral.model.table_checks import table_problems
from auroral.model.types import LONG, Kind
from auroral.model.unjudged import judge_apart_from_types, passes_rows_on
from auroral.model.window_samples import CheckedBox, with_window_samples

__all__ = ["Checked", "CheckedBox", "check"]

_RUN = "boxes that run: see docs/boxes.md"
_BEHIND = NotYet("what it reads comes from a box that does not run yet", "see that box")


@dataclass(frozen=True, slots=True)
class Checked:
    """A diagram that has passed: boxes in topological order, all stream types, and why it may not run yet."""

    diagram: Diagram
    boxes: tuple[CheckedBox, ...]
    streams: Mapping[str, StreamType]
    warnings: tuple[Problem, ...]
    blockers: tuple[Problem, ...]

    def __reduce__(self) -> tuple[object, ...]:
        return (_unpickle, (self.diagram, self.boxes, dict(self.streams), self.warnings, self.blockers))

    def runnable(self) -> Checked:
        """This, or a DiagramError that says what in it does not run yet."""
        if self.blockers:
            raise DiagramError(self.blockers)
        return self

    def producer(self, stream: str) -> tuple[CheckedBox, int] | None:
        """The box that makes `stream`, and its output port; None for an input stream."""
        for checked in self.boxes:
            if stream in checked.box.outputs:
                return checked, checked.box.outputs.index(stream)
        return None

    @property
    def box_class(self) -> BoxClass:
        """The class of the whole: a fold if any box is, else a window if any is."""
        order = (BoxClass.MAP, BoxClass.WINDOW, BoxClass.FOLD)
        return max((c.typed.box_class for c in self.boxes), key=order.index, default=BoxClass.MAP)

    @property
    def convergent(self) -> bool:
        """Whether the whole comes to the same state wherever it was started (D12)."""
        return all(c.typed.convergent for c in self.boxes)


def _unpickle(
    diagram: Diagram,
    boxes: tuple[CheckedBox, ...],
    streams: dict[str, StreamType],
    warnings: tuple[Problem, ...],
    blockers: tuple[Problem, ...],
) -> Checked:
    return Checked(diagram, boxes, MappingProxyType(streams), warnings, blockers)


def check(
    diagram: Diagram, functions: Functions | None = None, known: Mapping[str, StreamType] | None = None
) -> Checked:
    """Type all streams of `diagram`. Raises one DiagramError with every problem found.

    `known` are the types of inputs that are streams of another diagram, of which more is known than their schema.
    """
    functions = functions if functions is not None else default_functions()
    diagram, implied = with_implied_revisions(diagram, known or {})
    return _Checking(with_kept_streams(diagram), functions, known or {}, implied).run()


class _Checking:
    def __init__(
        self,
        diagram: Diagram,
        functions: Functions,
        known: Mapping[str, StreamType],
        warnings: tuple[Problem, ...],
    ):
        self.diagram = diagram
        self.functions = functions
        self.known = known
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = list(warnings)
        self.blockers: list[Problem] = []
        self.streams: dict[str, StreamType] = {}
        # Streams whose producer is wrong or does not run yet: what reads them cannot be judged.
        self.unknown: set[str] = set()
        self.tables = {table.name: table for table in diagram.tables}

    def run(self) -> Checked:
        self._names()
        for given in self.diagram.inputs:
            self.streams[given.stream] = self.known.get(given.stream) or self._input(given)
        checked = [c for box in self._ordered() for c in self._with_queues(box)]
        seen: set[str] = set()
        for output in self.diagram.outputs:
            self._output(output, seen)
            seen.add(output.stream)
        self._unread()
        self.warnings += unknown_kept_fields(self.diagram, self.streams)
        if self.diagram.bucket <= 0:
            self.problems.append(
                Problem(
                    f"the bucket interval is {self.diagram.bucket} us",
                    allowed="above 0",
                    next_step='write for example bucket="1s", or --bucket 1s',
                )
            )
        if self.problems:
            raise DiagramError(self.problems)
        boxes = tuple(with_window_samples(checked, self.warnings))
        self.warnings += unwritten(self.diagram, boxes)
        boxes = with_regions(self.diagram, boxes, self.streams, self.problems)
        if self.problems:
            raise DiagramError(self.problems)
        return Checked(self.diagram, boxes, MappingProxyType(self.streams), tuple(self.warnings), tuple(self.blockers))

    def _names(self) -> None:
        self.problems += name_problems(self.diagram)
        self.problems += table_problems(self.diagram)
        made = {stream for stream, _ in produced(self.diagram)}
        known = sorted(made)
        for box in self.diagram.boxes:
            for stream in box.inputs:
                if stream not in made:
                    place = placed(box.place, f"box {box.name!r}")
                    self.problems.append(unknown_name("stream", stream, known, place))
                    self.unknown.add(stream)

    def _unread(self) -> None:
        read = {stream for box in self.diagram.boxes for stream in box.inputs}
        read |= {output.stream for output in self.diagram.outputs}
        # Control streams are the system's own.
        ends = [(s, place) for s, place in produced(self.diagram) if s not in read and self.streams.get(s) != CONTROL]
        if self.diagram.outputs:
            self.warnings += [
                Problem(
                    f"stream {s!r} is read by no box and is no output",
                    at,
                    allowed="unread streams: their rows go nowhere",
                    next_step="make it an output, or take it out",
                )
                for s, at in ends
            ]
            return
        what = f"the diagram {self.diagram.name!r} has no output: a run of it gives nothing"
        candidates = f"streams that nothing reads: {', '.join(s for s, _ in ends[:5])}" if ends else "any stream"
        step = 'make one with <output stream="..."/>, or .output() in Python'
        self.warnings.append(Problem(what, allowed=candidates, next_step=step))

    def _input(self, given: Input) -> StreamType:
        stamp = given.stamp
        place = placed(given.place, f"input {given.stream!r}")
        clocks: tuple[ClockField, ...] = ()
        if stamp is not None and stamp.field is not None:
            field_type = given.schema.get(stamp.field)
            if field_type is None:
                self.problems.append(unknown_name("stime field", stamp.field, given.schema.names, place))
            elif not (field_type.is_integer or field_type.kind is Kind.TIMESTAMP):
                self.problems.append(
                    Problem(
                        f"stime field {stamp.field!r} is a {field_type}",
                        place,
                        allowed="a timestamp or an integer field",
                        next_step="choose another field, or declare this one as long and convert the data",
                    )
                )
            else:
                clocks = (ClockField(stamp.field, stamp.unit),)
        return StreamType(given.schema, clocks, (LONG,))

    def _ordered(self) -> list[Box]:
        found, loops = ordered(self.diagram.boxes, (given.stream for given in self.diagram.inputs))
        for loop in loops:
            self.problems.append(
                Problem(
                    f"the boxes {' <- '.join(loop.names)} form a loop",
                    loop.at.place,
                    allowed="diagrams without loops",
                    next_step=f"take one of them out, or give box {loop.at.name!r} another input",
                )
            )
            self.unknown.update(loop.at.outputs)
        return found

    def _with_queues(self, box: Box) -> list[CheckedBox]:
        """The box behind the update queues that its options ask for."""
        if any(stream in self.unknown or stream not in self.streams for stream in box.inputs):
            alone = self._box(box)
            return [alone] if alone is not None else []
        self.warnings += idle_queues(box, self.streams)
        found = dict(queues_of(box, self.streams))
        queues = [
            Box(queue_name(box, port), spec, (box.inputs[port],), (queue_name(box, port),), box.node, place=box.place)
            for port, spec in found.items()
        ]
        behind = behind_queues(box, list(found)) if found else box
        return [c for c in map(self._box, (*queues, behind)) if c is not None]

    def _box(self, box: Box) -> CheckedBox | None:
        place = placed(box.place, f"box {box.name!r}")
        known = [None if stream in self.unknown else self.streams.get(stream) for stream in box.inputs]
        # A bucket of no length is a problem already; boxes are judged all the same.
        report = Report(box.name, place, self.functions, max(1, self.diagram.bucket), box.inputs, tables=self.tables)
        if None in known:
            judge_apart_from_types(box.spec, known, report)
            self.problems += report.problems
            self.unknown.update(box.outputs)
            return self._behind(box, place)
        revised = next((stream for stream in box.inputs if self.streams[stream].kept is not None), None)
        if revised is not None and not box.takes_revisions:
            self.problems.append(_takes_no_revisions(box, revised, place))
            self.unknown.update(box.outputs)
            return None
        typed = box.spec.resolve([self.streams[stream] for stream in box.inputs], len(box.outputs), report)
        typed = None if report.problems else typed
        self.problems += report.problems
        self.warnings += report.warnings
        self.blockers += [replace(p, what=f"box {box.name!r} does not run yet: {p.what}") for p in report.missing]
        if typed is None and len(box.inputs) == 1 and passes_rows_on(box.spec):
            self.streams.update(dict.fromkeys(box.outputs, self.streams[box.inputs[0]]))
            return _without_functions(box, report)
        if typed is None:
            self.unknown.update(box.outputs)
            return _without_functions(box, report)
        if isinstance(typed, TypedLater):
            return self._later(box, typed, report)
        for name in sorted({name for expression in typed.expressions() for name in impure_functions(expression)}):
            self.blockers.append(
                Problem(
                    f"box {box.name!r} calls {name}(), whose result differs from run to run",
                    report.place,
                    allowed="functions of the row alone: no clock, no random source, no arrival order",
                    next_step="use the row's stime, or a hash of its fields",
                )
            )
        if not self.problems:
            self.warnings += [self._closed_by_rows(box, lost, report.place) for lost in typed.not_stime]
        self.streams.update(zip(box.outputs, typed.outputs, strict=True))
        return CheckedBox(box, typed)

    def _behind(self, box: Box, place: Place) -> CheckedBox:
        """A box that cannot be judged. Where its type does not run yet, whatever it reads, that is said all the same."""
        if isinstance(box.spec, Later):
            what = f"box {box.name!r} does not run yet: {box.spec.not_yet.why}"
            self.blockers.append(Problem(what, place, _RUN, box.spec.not_yet.instead))
        return CheckedBox(box, later(_BEHIND))

    def _closed_by_rows(self, box: Box, lost: NotStime, place: Place) -> Problem:
        """Runs, but perhaps not as it was meant: most windows of old files are of time."""
        reason, allowed = self._lost(box.inputs[lost.port], lost.field)
        what = f"box {box.name!r} goes by rows, not by time: {reason.why}"
        return Problem(what, place, allowed, f"to go by time: {reason.instead}")

    def _later(self, box: Box, typed: TypedLater, report: Report) -> CheckedBox:
        what = f"box {box.name!r} does not run yet: {typed.reason.why}"
        self.blockers.append(Problem(what, report.place, _RUN, typed.reason.instead))
        if typed.outputs:
            self.streams.update(zip(box.outputs, typed.outputs, strict=True))
        else:
            self.unknown.update(box.outputs)
        return CheckedBox(box, typed)

    def _lost(self, stream: str, field: str) -> tuple[NotYet, str]:
        """Why `field` does not carry the stime of `stream`, and which fields do."""
        lost = lost_time(self.diagram, self.streams, stream, field)
        why = f"it is on {field!r}, which does not carry the stime of {stream!r}: {lost.why}"
        clocks = ", ".join(clock.name for clock in self.streams[stream].clocks)
        return NotYet(why, lost.instead), f"fields of {stream!r} that do: {clocks or 'none'}"

    def _output(self, output: Output, earlier: set[str]) -> None:
        place = placed(output.place, f"output {output.stream!r}")
        if output.stream in earlier:
            self.problems.append(
                Problem(
                    f"stream {output.stream!r} is an output twice",
                    place,
                    allowed="each stream once",
                    next_step="leave one out",
                )
            )
        if output.availability is not None and output.availability <= 0:
            self.problems.append(
                Problem(
                    f"output {output.stream!r}: the availability bound is {output.availability} us",
                    place,
                    allowed="above 0",
                    next_step="leave it out, to wait as long as it takes",
                )
            )
        if output.stream in self.unknown:
            return
        self._sites(output, place)
        found = self.streams.get(output.stream)
        if found is None:
            made = sorted({stream for stream, _ in produced(self.diagram)})
            self.problems.append(unknown_name("stream", output.stream, made, place))
        elif output.schema is not None:
            wrong, odd = against_declared(output, output.schema, found, place)
            self.problems += wrong
            self.warnings += odd

    def _sites(self, output: Output, place: Place) -> None:
        """The inputs that a tentative answer needs."""
        known = self.diagram.computed_from(output.stream)
        for name in output.of:
            if name not in known:
                what = f"output {output.stream!r} is not computed from {name!r}"
                allowed = f"of: {', '.join(known) or 'nothing'}"
                self.problems.append(Problem(what, place, allowed, "name inputs that lead to it"))
        if output.of and output.at_least is None:
            what = f"output {output.stream!r} names inputs, but not how many of them a tentative answer needs"
            self.problems.append(Problem(what, place, "at_least with of", "say at_least, or leave of out"))
        most = len(set(output.of or known))
        if output.at_least is not None and known and not 1 <= output.at_least <= most:
            what = (
                f"output {output.stream!r}: a tentative answer cannot need at least {output.at_least} of {most} inputs"
            )
            self.problems.append(Problem(what, place, f"1 to {most}", "give another number, or leave it out"))


def _takes_no_revisions(box: Box, stream: str, place: Place) -> Problem:
    return Problem(
        f"box {box.name!r} ({box.spec.type}) reads {stream!r}, of which rows may be revised: it could not take back what it made of them",
        place,
        allowed="filter, map, union, aggregates over windows of stime, and inner joins",
        next_step="put .settled(...) before it: rows come once they can be revised no more",
    )


def _without_functions(box: Box, report: Report) -> CheckedBox | None:
    """A box that is right but for functions that were not given; None for one that is wrong."""
    if report.problems:
        return None
    return CheckedBox(box, later(NotYet("it calls functions that are not built in", "register them")))
