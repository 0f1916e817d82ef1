"""`auroral check`: everything that is wrong with diagrams and deployments, at once, and what they are."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import dataclass, field
from typing import Any

from auroral.commands.describing import box_rows, describe, from_packages, input_rows, silence_note, streams_json
from auroral.commands.diagrams import Source, must_be_used, read_source
from auroral.commands.options import add_functions, add_json, add_master, add_stime
from auroral.commands.programs import register_functions
from auroral.commands.terminal import (
    FINE,
    WRONG_INPUT,
    columns,
    problems_json,
    say,
    say_json,
    say_problems,
)
from auroral.model.checking import Checked, check
from auroral.model.deployment import Deployment
from auroral.model.diagram import Diagram
from auroral.model.duration import spell
from auroral.model.errors import DiagramError, Place, Problem
from auroral.model.placement import check_deployment, unknown_names
from auroral.model.xml import Loaded

NAME = "check"
SUMMARY = "find everything that is wrong with a diagram, and show what its boxes are"
EXAMPLE = """\
  auroral check examples/netmon.py
  auroral check examples/grid.xml examples/grid-deploy.xml
  auroral check --determinism --json examples/netmon.py"""


@dataclass(slots=True)
class Verdict:
    """What was found about one diagram or deployment of a file."""

    file: str
    kind: str
    name: str
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    checked: Checked | None = None
    differences: list[Problem] = field(default_factory=list)
    tried: int = 0

    @property
    def ok(self) -> bool:
        return not self.problems and not self.differences

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "file": self.file,
            "kind": self.kind,
            "name": self.name,
            "ok": self.ok,
            "problems": problems_json(self.problems),
            "warnings": problems_json(self.warnings),
        }
        if self.checked is not None:
            found |= {
                "runs": not self.checked.blockers,
                "blockers": problems_json(self.checked.blockers),
                "class": str(self.checked.box_class),
                "convergent": self.checked.convergent,
                "bucket_us": self.checked.diagram.bucket,
                "boxes": [box.to_json() for box in describe(self.checked)],
                "streams": streams_json(self.checked),
                "functions_of_packages": from_packages(self.checked),
                "notes": [note] if (note := silence_note(self.checked.diagram)) else [],
            }
        if self.tried:
            found["determinism"] = {"tried": self.tried, "differences": problems_json(self.differences)}
        return found


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="a Borealis XML file (diagram or deployment), a deployment as YAML, or a Python file that defines diagrams in "
        "module-level names, which is executed. A deployment is checked against the diagrams given with it",
    )
    add_json(parser)
    parser.add_argument(
        "--determinism",
        action="store_true",
        help="also run the diagram, and each `apply` box by itself, over random rows: shuffled, in 1 and 7 partitions "
        "and cut differently into jobs; the results must be the same, and combine of user aggregates must give what incr "
        "does (starts Spark)",
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the random rows of --determinism (1)")
    add_master(parser)
    add_stime(parser)
    add_functions(parser)


def run(args: Namespace) -> int:
    register_functions(args.functions)
    sources = [read_source(file, args.stime) for file in args.files]
    must_be_used(args.stime, sources)
    verdicts = [verdict for source in sources for verdict in _verdicts(source, sources)]
    if args.determinism:
        _try_out(verdicts, args)
    ok = all(verdict.ok for verdict in verdicts)
    if args.json:
        say_json({"ok": ok, "results": [verdict.to_json() for verdict in verdicts]})
    else:
        for number, verdict in enumerate(verdicts):
            if number:
                say()
            _say(verdict)
    return FINE if ok else WRONG_INPUT


def _try_out(verdicts: list[Verdict], args: Namespace) -> None:
    runnable = [one for one in verdicts if one.checked is not None and not one.checked.blockers]
    if not runnable:
        return
    # Here, since all other checking needs no Spark.
    from auroral.commands.determinism import try_out
    from auroral.commands.spark import session_for

    session = session_for(args.master, debug=args.debug)
    for verdict in runnable:
        assert verdict.checked is not None
        verdict.tried, verdict.differences = try_out(session, verdict.checked, args.seed)


def _verdicts(source: Source, sources: list[Source]) -> list[Verdict]:
    if source.problems:
        problems = source.problems + _unknown(source, sources)
        return [Verdict(source.file, source.kind, source.file, problems, source.warnings)]
    if source.deployment is not None:
        return [_deployment(source.file, source.deployment, sources)]
    return [_diagram(source, loaded) for loaded in source.diagrams]


def _diagram(source: Source, loaded: Loaded) -> Verdict:
    diagram = loaded.diagram
    verdict = Verdict(source.file, source.kind, str(diagram.qualified(diagram.name)), warnings=loaded.warnings)
    try:
        verdict.checked = check(loaded.diagram)
        verdict.warnings += verdict.checked.warnings
    except DiagramError as error:
        verdict.problems = error.problems
    return verdict


def _deployment(file: str, deployment: Deployment, sources: list[Source]) -> Verdict:
    verdict = Verdict(file, "deployment", file, warnings=deployment.warnings)
    diagrams = [loaded.diagram for source in sources for loaded in source.diagrams]
    if not diagrams:
        unknown = Problem(
            "whether it fits is not known: no diagram is given with it",
            Place(file),
            next_step="name the diagram's file as well: auroral check DIAGRAM.xml DEPLOYMENT.xml",
        )
        verdict.warnings = (*verdict.warnings, unknown)
    else:
        try:
            verdict.warnings += check_deployment(deployment, _together(diagrams)).warnings
        except DiagramError as error:
            verdict.problems = error.problems
    return verdict


def _unknown(source: Source, sources: list[Source]) -> tuple[Problem, ...]:
    """What else is wrong with a deployment of which some could not be read, as far as the diagrams beside it tell."""
    diagrams = [loaded.diagram for one in sources for loaded in one.diagrams]
    if source.deployment is None or not diagrams:
        return ()
    return tuple(unknown_names(source.deployment, _together(diagrams)))


def _together(diagrams: list[Diagram]) -> Diagram:
    """All diagrams as one: a deployment may place the queries of several."""
    return Diagram(
        " and ".join(diagram.name for diagram in diagrams),
        tuple(given for diagram in diagrams for given in diagram.inputs),
        tuple(output for diagram in diagrams for output in diagram.outputs),
        tuple(query for diagram in diagrams for query in diagram.queries),
    )


def _say(verdict: Verdict) -> None:
    what = "deployment: " if verdict.kind == "deployment" else f"diagram {verdict.name!r}: "
    if verdict.kind != "deployment" and verdict.name == verdict.file:
        # Nothing could be read, not even a name.
        what = ""
    checked = verdict.checked
    if verdict.problems:
        count = len(verdict.problems)
        state = f"{count} problem{'s' * (count != 1)}"
    elif checked is None:
        state = "fine"
    else:
        state = "fine, but does not run yet" if checked.blockers else "fine, and runs"
    say(f"{verdict.file}: {what}{state}")
    say_problems("error", verdict.problems)
    say_problems("warning", verdict.warnings)
    if checked is None:
        return
    say_problems("does not run yet", checked.blockers)
    say(
        f"class {checked.box_class}, {'convergent' if checked.convergent else 'not convergent'}, "
        f"buckets of {spell(checked.diagram.bucket)}"
    )
    say(columns(input_rows(checked.diagram)))
    if note := silence_note(checked.diagram):
        say(f"  note: {note}")
    say(columns(box_rows(describe(checked))))
    if found := from_packages(checked):
        say(f"  functions of packages: {', '.join(found)}")
    if verdict.tried:
        say_problems("not deterministic", verdict.differences)
        if not verdict.differences:
            say(f"deterministic as far as {verdict.tried} trials on random rows can tell")
