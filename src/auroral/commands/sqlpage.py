"""The Spark SQL that a diagram becomes, laid out for reading: a comment for each input and box, then the outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from auroral.engine.compile import Program, Step, compile_program
from auroral.engine.foldbox import FoldBox
from auroral.engine.relations import Edge, SliceEdge, StateEdge
from auroral.engine.sqltext import Column, needed, quoted, readable, relation, with_ctes
from auroral.model.boxes.apply import Apply
from auroral.model.boxes.user import UserBox
from auroral.model.checking import Checked
from auroral.model.duration import spell
from auroral.model.summary import summary

_RANGE = """\
-- :lo and :hi are the first and the end of its buckets, in microseconds of stime;\n-- :first(box) and :end(box) are the same in cells of the box's slices.
-- `x@source` are logged rows of an input, `x@kept` is what earlier ranges left of an edge.
-- A step that is used once is run in the place where it is used. Sums of numbers below 2^-54 or above 2^53 take a longer form."""


@dataclass(frozen=True, slots=True)
class Form:
    """One of the forms that a diagram is run in: what it is compiled with, and what is to be said of it."""

    compiled: Mapping[str, Any]
    head: str
    outputs: str


FORMS = {
    "large": Form(
        {"many_bins": False},
        f"-- The form of large jobs, for buckets of many rows and for catching up; --small and --middle show others.\n{_RANGE}",
        "-- each output is written by a statement of its own; what is kept comes out of one more",
    ),
    "small": Form(
        {"many_bins": False, "single": True},
        f"-- The form of small jobs, for buckets of few rows.\n{_RANGE}\n"
        "-- :targets(box) says which windows and larger slices a cell `__c` counts in.",
        "-- all that was not fetched yet comes out of one job",
    ),
    "middle": Form(
        {"many_bins": False, "single": True, "gathered": True},
        f"-- The form of middling jobs, which are between small and large ones.\n{_RANGE}",
        "-- all that was not fetched yet comes out of one job",
    ),
    "batch": Form(
        {"batch": True},
        "-- The batch run, over all rows: :lo and :hi enclose their stimes, in microseconds. `x@source` are the rows of an input.\n"
        "-- A step that is used once is run in the place where it is used.",
        "-- each output is written by a statement of its own",
    ),
}


@dataclass(frozen=True, slots=True)
class Kept:
    """An edge that is stored, and how long; `past` is None for a state, which is kept for ever."""

    name: str
    what: str
    past: int | None

    @property
    def how_long(self) -> str:
        if self.past is None:
            return "always: the newest state of each key"
        if self.past == 0:
            return "until its bucket is done"
        return f"{spell(self.past)} before the bucket"


@dataclass(frozen=True, slots=True)
class Page:
    """`text` is for reading; `statements` has one complete statement for each output, or for what it is split from."""

    text: str
    statements: dict[str, str]
    kept: tuple[Kept, ...]


def sql_page(checked: Checked, form: str) -> Page:
    program = compile_program(checked, **FORMS[form].compiled)
    fetched = [step.both for step in program.steps if step.both is not None]
    finals = {both.relation: _all_of(both.relation, both.columns) for both in fetched}
    split = {both.output.name for both in fetched}
    for fold in (step.fold for step in program.steps if step.fold is not None):
        finals[fold.fetched] = f"SELECT *\nFROM {fold.rows}"
        split |= {name for name, _ in fold.outputs}
    finals |= {edge.name: _all_of(edge.name, edge.columns) for edge in program.outputs if edge.name not in split}
    ctes = [cte for step in program.steps for cte in (*step.ctes, *step.behind)]
    statements = {name: readable(with_ctes(needed(ctes, final)[0], final)) for name, final in finals.items()}
    text = _text(program, FORMS[form], finals)
    return Page(readable(text), statements, tuple(_kept(edge) for edge in program.edges))


def _all_of(name: str, columns: Sequence[Column]) -> str:
    return f"SELECT {', '.join(quoted(c.name) for c in columns)}\nFROM {relation(name)}"


def step_texts(checked: Checked, form: str) -> dict[str, str]:
    """What each input and box becomes, by its name."""
    program = compile_program(checked, **FORMS[form].compiled)
    found = {}
    for step in program.steps:
        parts, comments = _step(program.checked, step, [])
        found[step.name] = readable(",\n\n".join([*parts, *comments]) + "\n")
    return found


def _step(checked: Checked, step: Step, comments: list[str]) -> tuple[list[str], list[str]]:
    """What is added to the statement, and comments for what comes next."""
    parts: list[str] = []
    comments = [*comments, _comment(checked, step)]
    for cte in step.ctes:
        parts.append("\n".join([*comments, str(cte)]))
        comments = []
    if step.both is not None:
        name, relation = quoted(step.both.output.name), quoted(step.both.relation)
        comments.append(
            f"-- {relation} is fetched: {name} are its rows with __l = -1, for steps below; the others are kept"
        )
    for cte in step.behind:
        parts.append("\n".join([*comments, str(cte)]))
        comments = []
    return parts, comments


def _text(program: Program, form: Form, finals: dict[str, str]) -> str:
    parts: list[str] = []
    comments: list[str] = []
    for step in program.steps:
        more, comments = _step(program.checked, step, comments)
        parts += more
    steps = "WITH\n" + ",\n\n".join(parts) if parts else ""
    outputs = [f"-- {'output' if '@' not in name else 'fetched'} {name}\n{final}" for name, final in finals.items()]
    comments.append(form.outputs)
    return "\n\n".join([*filter(None, [form.head, steps, "\n".join(comments)]), ";\n\n".join(outputs)]) + "\n"


def _comment(checked: Checked, step: Step) -> str:
    found = next((box.box for box in checked.boxes if box.box.name == step.name), None)
    if found is None:
        return f"-- input {step.name}"
    said = summary(found.spec).replace("\n", " ")
    kind = getattr(found.spec, "type_name", found.spec.type)
    text = f"-- box {found.name} ({kind}{': ' if said else ''}{said})"
    fold = step.fold or (step.python if isinstance(step.python, FoldBox) else None)
    streams = [name for name, _ in fold.outputs] if fold is not None else found.outputs
    gives = " and ".join(quoted(stream) for stream in streams) or "what is kept of it"
    if step.fold is not None:
        text += f"\n--   {gives}: not SQL but a fold in Python, over {quoted(step.fold.fetched)}, which is fetched"
    if step.python is not None:
        reads = " and ".join(quoted(stream) for stream in found.inputs)
        how = "the function itself" if isinstance(found.spec, Apply | UserBox) else "a scan in Python"
        text += f"\n--   {gives} {'are' if len(streams) > 1 else 'is'} not SQL but {how}, over {reads}"
    return text


def _kept(edge: Edge) -> Kept:
    if isinstance(edge, StateEdge):
        return Kept(edge.name, "state of a fold", None)
    if isinstance(edge, SliceEdge):
        return Kept(edge.name, "partial aggregates, in slices of time", edge.past)
    return Kept(edge.name, "logged rows" if edge.name.endswith("@source") else "rows", edge.past)
