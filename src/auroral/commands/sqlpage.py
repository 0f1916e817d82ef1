"""The Spark SQL that a diagram becomes, laid out for reading: a comment for each input and box, then the outputs."""

from __future__ import annotations

from dataclasses import dataclass

from auroral.engine.compile import Program, Step, compile_program
from auroral.engine.relations import Edge, SliceEdge
from auroral.engine.scans import StateEdge
from auroral.engine.sqltext import needed, quoted, readable, relation, with_ctes
from auroral.model.boxes.apply import Apply
from auroral.model.checking import Checked
from auroral.model.duration import spell
from auroral.model.summary import summary

HEAD = """\
-- One statement for any range of buckets: :lo and :hi are its first and its end, in microseconds of stime;\n-- :first(box) and :end(box) are the same in cells of the box's slices.
-- `x@source` are logged rows of an input, `x@kept` is what earlier ranges left of an edge."""


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
    """`text` is for reading; `statements` has, for each output, one complete statement."""

    text: str
    statements: dict[str, str]
    kept: tuple[Kept, ...]


def sql_page(checked: Checked, *, batch: bool = False) -> Page:
    """`batch` is for the plain SQL of the batch run: no slices, nothing kept."""
    # What runs while values are of usual magnitude (see `auroral.engine.exact`): the plainer text.
    program = compile_program(checked, batch=batch, many_bins=False)
    ctes = [cte for step in program.steps for cte in step.ctes]
    finals = {edge.name: _final(edge) for edge in program.outputs}
    statements = {name: readable(with_ctes(needed(ctes, final)[0], final)) for name, final in finals.items()}
    return Page(readable(_text(program, finals)), statements, tuple(_kept(edge) for edge in program.edges))


def _final(edge: Edge) -> str:
    return f"SELECT {', '.join(quoted(c.name) for c in edge.columns)}\nFROM {relation(edge.name)}"


def _text(program: Program, finals: dict[str, str]) -> str:
    parts: list[str] = []
    comments: list[str] = []
    for step in program.steps:
        comments.append(_comment(program.checked, step))
        for cte in step.ctes:
            parts.append("\n".join([*comments, str(cte)]))
            comments = []
    steps = "WITH\n" + ",\n\n".join(parts) if parts else ""
    outputs = [f"-- output {name}\n{final}" for name, final in finals.items()]
    if len(outputs) > 1:
        comments.append("-- each output is selected from the steps above; all of them come out of one job")
    return "\n\n".join(filter(None, [HEAD, steps, "\n".join(comments), ";\n\n".join(outputs)])) + "\n"


def _comment(checked: Checked, step: Step) -> str:
    found = next((box.box for box in checked.boxes if box.box.name == step.name), None)
    if found is None:
        return f"-- input {step.name}"
    said = summary(found.spec).replace("\n", " ")
    kind = getattr(found.spec, "type_name", found.spec.type)
    text = f"-- box {found.name} ({kind}{': ' if said else ''}{said})"
    if step.python is not None:
        reads = " and ".join(quoted(stream) for stream in found.inputs)
        how = "the function itself" if isinstance(found.spec, Apply) else "a scan in Python"
        text += f"\n--   {quoted(found.outputs[0])} is not SQL but {how}, over {reads}"
    return text


def _kept(edge: Edge) -> Kept:
    if isinstance(edge, StateEdge):
        return Kept(edge.name, "state of a fold", None)
    if isinstance(edge, SliceEdge):
        return Kept(edge.name, "partial aggregates, in slices of time", edge.past)
    return Kept(edge.name, "logged rows" if edge.name.endswith("@source") else "rows", edge.past)
