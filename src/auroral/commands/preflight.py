"""What a run or a batch run is to do, put together from the arguments; whatever is wrong is said before Spark starts."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from auroral.commands.diagrams import load_one
from auroral.commands.options import by_stream
from auroral.commands.programs import register_functions
from auroral.commands.terminal import WrongUse
from auroral.edge.pacing import InputSpec, absolute
from auroral.model.boxes.local_clock import local_clocks
from auroral.model.checking import Checked, check
from auroral.model.diagram import Diagram, Input, Stamp
from auroral.model.errors import Problem, unknown_name
from auroral.node.committing import check_new
from auroral.node.feeds import check_input

T = TypeVar("T")
STANDARD = "-"


@dataclass(frozen=True, slots=True)
class Plan:
    """A diagram that runs, where its inputs come from and where its outputs go. All paths are absolute."""

    checked: Checked
    inputs: Mapping[str, InputSpec]
    outputs: Mapping[str, str]
    flush: bool
    warnings: tuple[Problem, ...] = ()

    @property
    def prints_rows(self) -> bool:
        """Whether rows go to standard output, so that nothing else may."""
        return STANDARD in self.outputs.values()


def plan(args: Namespace) -> Plan:
    """Check the arguments against the diagram, and that all inputs can be read and all outputs written."""
    register_functions(args.functions)
    loaded = load_one(args.file, args.stime, args.diagram)
    known = [i.stream for i in loaded.diagram.inputs]
    inputs = named("--input", [(spec.stream, spec) for spec in args.input], known)
    diagram, unread = _without_unread(_changed(loaded.diagram, args), inputs)
    outputs = named("--output", args.output, [o.stream for o in diagram.outputs])
    _all_inputs(diagram, inputs)
    checked = check(diagram).runnable()
    inputs = {stream: replace(spec, stream=stream, path=absolute(spec.path)) for stream, spec in inputs.items()}
    for given in checked.diagram.inputs:
        if given.stream in inputs:
            check_input(given, inputs[given.stream])
    if [spec.path for spec in inputs.values()].count(STANDARD) > 1:
        raise WrongUse("standard input is read for two inputs\n    next: give all but one of them a file")
    _outputs_differ(outputs)
    check_new(outputs.values())
    return Plan(
        checked,
        inputs,
        {stream: absolute(path) for stream, path in outputs.items()},
        args.flush,
        (*loaded.warnings, *unread, *checked.warnings),
    )


def checked_diagram(args: Namespace, name: str | None, inputs: Collection[str]) -> tuple[Checked, tuple[Problem, ...]]:
    """The diagram of FILE with what the options say, over the `inputs` that a run has, and what is odd about it."""
    register_functions(args.functions)
    loaded = load_one(args.file, args.stime, name)
    diagram, unread = _without_unread(_changed(loaded.diagram, args), inputs)
    checked = check(diagram).runnable()
    return checked, (*loaded.warnings, *unread, *checked.warnings)


def _without_unread(diagram: Diagram, given: Collection[str]) -> tuple[Diagram, list[Problem]]:
    """The diagram without inputs that nobody reads and that no rows are given for; Borealis files declare such."""
    read = {stream for box in diagram.boxes for stream in box.inputs} | {o.stream for o in diagram.outputs}
    unread = [i for i in diagram.inputs if i.stream not in read and i.stream not in given]
    kept = tuple(i for i in diagram.inputs if i not in unread)
    warnings = [
        Problem(
            f"input {i.stream!r} is left out: no box reads it",
            i.place,
            allowed="inputs without rows, if nobody reads them",
            next_step="take it out of the diagram, or read it",
        )
        for i in unread
    ]
    return replace(diagram, inputs=kept), warnings


def named(option: str, pairs: Sequence[tuple[str, T]], known: Sequence[str]) -> dict[str, T]:
    """Values by the diagram's own names of streams; Borealis files write theirs in any case."""
    found = []
    for stream, value in pairs:
        name = stream if stream in known else stream.lower()
        if name not in known:
            kind = "output stream" if option == "--output" else "input stream"
            raise WrongUse(f"{option}: {unknown_name(kind, stream, known)}")
        found.append((name, value))
    return by_stream(option, found)


def _all_inputs(diagram: Diagram, inputs: Mapping[str, InputSpec]) -> None:
    clocks = local_clocks(diagram)
    missing = [given.stream for given in diagram.inputs if given.stream not in (*inputs, *clocks)]
    if missing:
        example = f"--input {missing[0]}={missing[0].replace(' ', '_')}.csv"
        raise WrongUse(
            f"no rows are given for {', '.join(map(repr, missing))}\n"
            f"    allowed: an --input for each of {', '.join(given.stream for given in diagram.inputs)}\n"
            f"    next: add for example {example}"
        )


def _changed(diagram: Diagram, args: Namespace) -> Diagram:
    """The diagram with what --bucket, --late, --delay and --idle-after say."""
    known = [given.stream for given in diagram.inputs]
    late = named("--late", args.late, known)
    delay = named("--delay", args.delay, known)
    # A batch run has no such option: all of its input is there.
    idle_after = named("--idle-after", getattr(args, "idle_after", ()), known)
    inputs = []
    for given in diagram.inputs:
        changed = replace(given, late=late.get(given.stream, given.late))
        if given.stream in delay:
            stamp = _stamped_by_field("--delay", changed)
            changed = replace(changed, stamp=replace(stamp, delay=delay[given.stream]))
        if given.stream in idle_after:
            stamp = _stamped_by_field("--idle-after", changed)
            changed = replace(changed, stamp=replace(stamp, idle_after=idle_after[given.stream]))
        inputs.append(changed)
    bucket = diagram.bucket if args.bucket is None else args.bucket
    return replace(diagram, inputs=tuple(inputs), bucket=bucket)


def _stamped_by_field(option: str, given: Input) -> Stamp:
    if given.stamp is None or given.stamp.field is None:
        raise WrongUse(
            f"{option}: input {given.stream!r} is stamped by the clock, which is never late\n"
            f"    next: name the field that carries its time: --stime {given.stream}=FIELD"
        )
    return given.stamp


def _outputs_differ(outputs: Mapping[str, str]) -> None:
    seen: dict[str, str] = {}
    for stream, path in outputs.items():
        place = absolute(path)
        if place in seen:
            raise WrongUse(f"{path} is the output of both {seen[place]!r} and {stream!r}\n    next: give each its own")
        seen[place] = stream
