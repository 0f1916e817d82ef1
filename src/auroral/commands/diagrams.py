"""Diagrams and deployments from files: Borealis XML, a Python program that defines diagrams, or a deployment as YAML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from auroral.commands.programs import diagrams_of_program
from auroral.commands.terminal import WrongUse
from auroral.loading import YAML, StimeChoice, StimeError, file_bytes, read_with_stimes, stamps_of
from auroral.model.builder import as_diagram
from auroral.model.deployment import Deployment
from auroral.model.diagram import Diagram
from auroral.model.errors import AuroralError, DiagramError, Problem, unknown_name
from auroral.model.stamps import with_stamps
from auroral.model.xml import Loaded, read_deployment
from auroral.model.xml.deployment import DeploymentError
from auroral.model.xml.read import read_xml
from auroral.model.yaml import read_deployment as read_yaml_deployment


@dataclass(frozen=True, slots=True)
class Source:
    """What a file holds: diagrams or a deployment, or the problems for which it cannot be read, or only in part."""

    file: str
    kind: str
    diagrams: tuple[Loaded, ...] = ()
    deployment: Deployment | None = None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    """What is odd in a file that cannot be read."""


def read_source(file: str, stimes: Sequence[StimeChoice] = ()) -> Source:
    """Read a file; what is wrong with it is in the result."""
    kinds = {".py": "python", **dict.fromkeys(YAML, "deployment")}
    kind = kinds.get(Path(file).suffix.lower(), "xml")
    try:
        text = file_bytes(file, (".xml", ".py", *YAML))
        if kind == "deployment":
            return Source(file, kind, deployment=read_yaml_deployment(text, file))
        if kind == "python":
            found = [as_diagram(one) for one in diagrams_of_program(file)]
            return Source(file, kind, tuple(_stamped(diagram, stimes) for diagram in found))
        if read_xml(text, file).tag == "deploy":
            return Source(file, "deployment", deployment=read_deployment(text, file))
        return Source(file, kind, (read_with_stimes(text, file, stimes),))
    except StimeError as error:
        raise WrongUse(f"--stime: {error}") from error
    except DeploymentError as error:
        return Source(file, "deployment", (), error.deployment, error.problems, error.warnings)
    except DiagramError as error:
        return Source(file, kind, problems=error.problems, warnings=error.warnings)


def load_one(
    file: str, stimes: Sequence[StimeChoice], name: str | None = None, chosen_by: str = "--diagram {name}"
) -> Loaded:
    """The diagram of a file, which must have one, or one of that name; `chosen_by` is how to say so."""
    source = read_source(file, stimes)
    if source.problems:
        raise DiagramError(source.problems, source.warnings)
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
            f"    next: choose one, for example {chosen_by.format(name=names[0])}"
        )
    return source.diagrams[0]


def load_deployment(file: str) -> Deployment:
    source = read_source(file)
    if source.problems:
        raise DiagramError(source.problems, source.warnings)
    if source.deployment is None:
        raise AuroralError(
            f"{file} is a diagram: it says what queries are, not where they run\n"
            "    allowed: a deployment, as XML with the root <deploy> or as YAML\n    next: see examples/grid-deploy.xml"
        )
    return source.deployment


def must_be_used(stimes: Iterable[StimeChoice], sources: Sequence[Source]) -> None:
    """Every --stime must be about an input of some diagram."""
    if any(source.problems for source in sources):
        return
    inputs = [i for source in sources for loaded in source.diagrams for i in loaded.diagram.inputs]
    names = list(dict.fromkeys(i.stream for i in inputs))
    wrong = [s for s in stimes if s.stream not in names and s.stream.lower() not in names]
    if wrong:
        raise WrongUse("\n".join(f"--stime: {unknown_name('input stream', s.stream, names)}" for s in wrong))


def _stamped(diagram: Diagram, stimes: Sequence[StimeChoice]) -> Loaded:
    stamped, warnings = with_stamps(diagram, stamps_of(diagram, stimes))
    return Loaded(stamped, warnings)
