"""Diagrams and deployments from files: Borealis XML, or a Python program that defines diagrams."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from auroral.commands.options import StimeOption
from auroral.commands.programs import diagrams_of_program
from auroral.commands.terminal import WrongUse
from auroral.model.builder import as_diagram
from auroral.model.deployment import Deployment
from auroral.model.diagram import Diagram, Input, Stamp
from auroral.model.duration import UNITS
from auroral.model.errors import AuroralError, DiagramError, Problem, unknown_name
from auroral.model.stamps import with_stamps
from auroral.model.types import Kind
from auroral.model.xml import read_deployment, read_diagram
from auroral.model.xml.read import read_xml


@dataclass(frozen=True, slots=True)
class Loaded:
    """A diagram of a file, and what was odd where it was read."""

    diagram: Diagram
    warnings: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """What a file holds: diagrams or a deployment, or the problems for which it cannot be read."""

    file: str
    kind: str
    diagrams: tuple[Loaded, ...] = ()
    deployment: Deployment | None = None
    problems: tuple[Problem, ...] = ()


def read_source(file: str, stimes: Sequence[StimeOption] = ()) -> Source:
    """Read a file; what is wrong with it is in the result."""
    kind = "python" if Path(file).suffix.lower() == ".py" else "xml"
    try:
        text = _bytes(file)
        if kind == "python":
            found = [as_diagram(one) for one in diagrams_of_program(file)]
            return Source(file, kind, tuple(_stamped(diagram, stimes) for diagram in found))
        if read_xml(text, file).tag == "deploy":
            return Source(file, "deployment", deployment=read_deployment(text, file))
        return Source(file, kind, (_xml_diagram(text, file, stimes),))
    except DiagramError as error:
        return Source(file, kind, problems=error.problems)


def load_one(file: str, stimes: Sequence[StimeOption], name: str | None = None) -> Loaded:
    """The diagram of a file, which must have one, or one of that name."""
    source = read_source(file, stimes)
    if source.problems:
        raise DiagramError(source.problems)
    if source.deployment is not None:
        raise AuroralError(
            f"{file} is a deployment: it says where queries run, not what they are\n"
            "    allowed: a diagram, as XML or Python\n"
            "    next: check it together with its diagram: auroral check DIAGRAM.xml DEPLOYMENT.xml"
        )
    must_be_used(stimes, [source])
    names = [loaded.diagram.name for loaded in source.diagrams]
    if name is not None:
        chosen = [loaded for loaded in source.diagrams if loaded.diagram.name == name]
        if not chosen:
            raise WrongUse(str(unknown_name("diagram", name, names)))
        return chosen[0]
    if len(names) > 1:
        raise WrongUse(
            f"{file} defines {len(names)} diagrams\n"
            f"    allowed: {', '.join(names)}\n"
            f"    next: choose one, for example --diagram {names[0]}"
        )
    return source.diagrams[0]


def must_be_used(stimes: Iterable[StimeOption], sources: Sequence[Source]) -> None:
    """Every --stime must be about an input of some diagram."""
    if any(source.problems for source in sources):
        return
    inputs = [i for source in sources for loaded in source.diagrams for i in loaded.diagram.inputs]
    names = list(dict.fromkeys(i.stream for i in inputs))
    wrong = [s for s in stimes if s.stream not in names and s.stream.lower() not in names]
    if wrong:
        raise WrongUse("\n".join(f"--stime: {unknown_name('input stream', s.stream, names)}" for s in wrong))


def _bytes(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        folder = Path(file).parent
        next_step = "check the path"
        if folder.is_dir() and not Path(file).exists():
            there = sorted(p.name for p in folder.iterdir() if p.suffix.lower() in (".py", ".xml"))
            if there:
                next_step += f"; {folder} has {', '.join(there[:8])}{', ...' if there[8:] else ''}"
        problem = Problem(
            f"{file} cannot be read: {error.strerror}",
            allowed="a Borealis XML file or a Python file",
            next_step=next_step,
        )
        raise DiagramError([problem]) from error


def _xml_diagram(text: bytes, file: str, stimes: Sequence[StimeOption]) -> Loaded:
    found = read_diagram(text, file)
    stamps = _stamps(found.diagram, stimes)
    if stamps:
        found = read_diagram(text, file, stamps=stamps)
    return Loaded(found.diagram, found.warnings)


def _stamped(diagram: Diagram, stimes: Sequence[StimeOption]) -> Loaded:
    stamped, warnings = with_stamps(diagram, _stamps(diagram, stimes))
    return Loaded(stamped, warnings)


def _stamps(diagram: Diagram, stimes: Sequence[StimeOption]) -> dict[str, Stamp]:
    """The stamps that the options ask for, of the inputs that this diagram has."""
    found = {}
    for option in stimes:
        given = diagram.input(option.stream) or diagram.input(option.stream.lower())
        if given is not None:
            found[given.stream] = _stamp(given, option)
    return found


def _stamp(given: Input, option: StimeOption) -> Stamp:
    kind = given.schema.get(option.field) or given.schema.get(option.field.lower())
    is_timestamp = kind is not None and kind.kind is Kind.TIMESTAMP
    if is_timestamp and option.unit is not None:
        raise WrongUse(
            f"--stime: field {option.field!r} of {given.stream!r} is a timestamp and needs no unit\n"
            f"    next: write --stime {option.stream}={option.field}"
        )
    unit = 1 if is_timestamp else UNITS[option.unit or "s"]
    return replace(given.stamp or Stamp(), field=option.field, unit=unit)
