"""What a run or a batch run is to do, put together from the arguments; whatever is wrong is said before Spark starts."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from auroral.commands.diagrams import load_one
from auroral.commands.options import by_stream
from auroral.commands.terminal import WrongUse
from auroral.edge.pacing import InputSpec
from auroral.edge.sinks import LINE_SUFFIXES, OutputError
from auroral.model.checking import Checked, check
from auroral.model.diagram import Diagram, Input, Stamp
from auroral.model.errors import Problem, unknown_name
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
    loaded = load_one(args.file, args.stime, args.diagram)
    diagram = loaded.diagram
    inputs = _named("--input", [(spec.stream, spec) for spec in args.input], [i.stream for i in diagram.inputs])
    outputs = _named("--output", args.output, [o.stream for o in diagram.outputs])
    _all_inputs(diagram, inputs)
    checked = check(_changed(diagram, args)).runnable()
    for given in checked.diagram.inputs:
        check_input(given, inputs[given.stream])
    if [spec.path for spec in inputs.values()].count(STANDARD) > 1:
        raise WrongUse("standard input is read for two inputs\n    next: give all but one of them a file")
    _outputs_differ(outputs)
    for path in outputs.values():
        _must_be_writable(path)
    return Plan(
        checked,
        {stream: replace(spec, stream=stream, path=_absolute(spec.path)) for stream, spec in inputs.items()},
        {stream: _absolute(path) for stream, path in outputs.items()},
        args.flush,
        (*loaded.warnings, *checked.warnings),
    )


def _named(option: str, pairs: Sequence[tuple[str, T]], known: Sequence[str]) -> dict[str, T]:
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
    missing = [given.stream for given in diagram.inputs if given.stream not in inputs]
    if missing:
        example = f"--input {missing[0]}={missing[0].replace(' ', '_')}.csv"
        raise WrongUse(
            f"no rows are given for {', '.join(map(repr, missing))}\n"
            f"    allowed: an --input for each of {', '.join(given.stream for given in diagram.inputs)}\n"
            f"    next: add for example {example}"
        )


def _changed(diagram: Diagram, args: Namespace) -> Diagram:
    """The diagram with what --bucket, --late and --delay say."""
    known = [given.stream for given in diagram.inputs]
    late = _named("--late", args.late, known)
    delay = _named("--delay", args.delay, known)
    inputs = []
    for given in diagram.inputs:
        changed = replace(given, late=late.get(given.stream, given.late))
        if given.stream in delay:
            changed = replace(changed, stamp=_delayed(changed, delay[given.stream]))
        inputs.append(changed)
    bucket = diagram.bucket if args.bucket is None else args.bucket
    return replace(diagram, inputs=tuple(inputs), bucket=bucket)


def _delayed(given: Input, delay: int) -> Stamp:
    if given.stamp is None or given.stamp.field is None:
        raise WrongUse(
            f"--delay: input {given.stream!r} is stamped by the clock, which is never late\n"
            f"    next: name the field that carries its time: --stime {given.stream}=FIELD"
        )
    return replace(given.stamp, delay=delay)


def _outputs_differ(outputs: Mapping[str, str]) -> None:
    seen: dict[str, str] = {}
    for stream, path in outputs.items():
        place = _absolute(path)
        if place in seen:
            raise WrongUse(f"{path} is the output of both {seen[place]!r} and {stream!r}\n    next: give each its own")
        seen[place] = stream


def _must_be_writable(path: str) -> None:
    """As `open_sink` will find it, without making anything yet."""
    if path == STANDARD:
        return
    place = Path(path)
    suffixes = (*LINE_SUFFIXES, ".parquet")
    if place.suffix.lower() not in suffixes:
        raise OutputError(
            f"{path}: the format of a {place.suffix or 'nameless'} output is not known\n"
            f"    allowed: {', '.join(suffixes)} (a folder), or - for standard output\n"
            "    next: choose one of these endings"
        )
    if place.exists() and (any(place.iterdir()) if place.is_dir() else place.stat().st_size):
        raise OutputError(
            f"{path} is there already\n    allowed: a name that does not exist yet\n"
            f"    next: choose another output, or remove {path}; to go on with a run: auroral run --resume FOLDER"
        )
    folder = next(parent for parent in place.absolute().parents if parent.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        why = "it may not be written by you" if folder.is_dir() else "it is a file"
        raise OutputError(
            f"{path} cannot be written: {folder}: {why}\n    next: choose another folder, or mend its permissions"
        )


def _absolute(path: str) -> str:
    """As seen from anywhere: a run may be resumed from another folder."""
    return path if path == STANDARD else os.path.abspath(path)
