"""What a checked diagram is, in words and as JSON: its boxes with their classes, ports and horizons, and its streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from auroral.model.boxes.aggregate import TypedAggregateBox
from auroral.model.boxes.apply import TypedApply
from auroral.model.boxes.base import BoxClass
from auroral.model.boxes.later import TypedLater
from auroral.model.boxes.user import UserBox
from auroral.model.checking import Checked, CheckedBox
from auroral.model.diagram import Diagram, Input
from auroral.model.duration import spell
from auroral.model.expression import impure_functions, user_functions
from auroral.model.history import kept_streams


@dataclass(frozen=True, slots=True)
class Described:
    """One box. `horizon` counts buckets, this one included; None for a fold, which depends on all of the past."""

    name: str
    type: str
    query: str
    box_class: str
    horizon: int | None
    past: int
    inputs: tuple[tuple[str, bool], ...]
    outputs: tuple[str, ...]
    deterministic: str
    convergent: bool
    repeatable: bool
    order_key: str
    result_stime: str
    on_error: str
    runs: bool
    comes_from: str | None = None
    """The package, or the module, of a user's box."""

    @property
    def type_text(self) -> str:
        return self.type if self.comes_from is None else f"{self.type} of {self.comes_from}"

    @property
    def ports(self) -> str:
        ins = ", ".join(f"{stream} ({'required' if must else 'optional'})" for stream, must in self.inputs)
        return f"{ins or '-'} -> {', '.join(self.outputs) or '-'}"

    @property
    def horizon_text(self) -> str:
        if self.horizon is None:
            return "all of the past"
        if self.past == 0:
            return "1 bucket"
        return f"{self.horizon} buckets ({spell(self.past)} before)"

    def said(self, fact: bool) -> str:
        """A fact in a word; nothing is said of a box that does not run."""
        return ("yes" if fact else "no") if self.runs else "-"

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type": self.type,
            "from": self.comes_from,
            "query": self.query,
            "class": self.box_class,
            "horizon_buckets": self.horizon,
            "past_us": self.past,
            "inputs": [{"stream": stream, "required": must} for stream, must in self.inputs],
            "outputs": list(self.outputs),
            "deterministic": self.deterministic,
            "convergent": self.convergent,
            "repeatable": self.repeatable,
            "order_key": self.order_key,
            "result_stime": self.result_stime,
            "on_error": self.on_error,
            "runs": self.runs,
        }


def describe(checked: Checked) -> list[Described]:
    queries = {box.name: query.name for query in checked.diagram.queries for box in query.boxes}
    return [_box(box, queries[box.box.name], checked.diagram.bucket) for box in checked.boxes]


def _box(checked: CheckedBox, query: str, bucket: int) -> Described:
    box, typed, facts = checked.box, checked.typed, checked.box.spec.facts
    later = isinstance(typed, TypedLater)
    # A box that does not run yet says nothing of its ports: all that it reads counts as needed.
    required = typed.required if len(typed.required) == len(box.inputs) else (True,) * len(box.inputs)
    fold = typed.box_class is BoxClass.FOLD
    # Each class is part of the one before it (D12): what is not deterministic is not convergent, nor repeatable.
    pure = not any(impure_functions(expression) for expression in typed.expressions())
    return Described(
        box.name,
        getattr(box.spec, "type_name", box.spec.type),
        query,
        "not yet" if later else str(typed.box_class),
        None if fold else 1 + -(-typed.past // bucket),
        typed.past,
        tuple(zip(box.inputs, required, strict=True)),
        box.outputs,
        "unknown" if later else "no" if not pure else "if its function is" if isinstance(typed, TypedApply) else "yes",
        typed.convergent and pure,
        bool(facts.repeatable) and typed.convergent and pure,
        facts.order_key,
        facts.result_stime,
        str(typed.on_error),
        not later,
        (box.spec.package or type(box.spec.box).__module__) if isinstance(box.spec, UserBox) else None,
    )


def from_packages(checked: Checked) -> list[str]:
    """Functions and aggregates that installed packages offer, as `name of package`."""
    found: dict[str, str] = {}
    for one in checked.boxes:
        for expression in one.typed.expressions():
            found |= {f.name: f.package for f in user_functions(expression) if f.package is not None}
        if isinstance(one.typed, TypedAggregateBox):
            users = (f.user for f in one.typed.functions if f.user is not None)
            found |= {user.name: user.package for user in users if user.package is not None}
    return [f"{name} of {package}" for name, package in sorted(found.items())]


def box_rows(boxes: list[Described]) -> list[list[str]]:
    """A table of boxes for `check`."""
    head = ["box", "type", "class", "horizon", "deterministic", "convergent", "repeatable", "ports"]
    rows = [
        [
            b.name,
            b.type_text,
            b.box_class,
            b.horizon_text if b.runs else "-",
            b.deterministic,
            b.said(b.convergent),
            b.said(b.repeatable),
            b.ports,
        ]
        for b in boxes
    ]
    return [head, *rows]


def stream_rows(checked: Checked) -> list[list[str]]:
    roles = {given.stream: "input" for given in checked.diagram.inputs}
    outputs = {output.stream for output in checked.diagram.outputs if not output.kept}
    kept = {one.stream: one.view.name for one in kept_streams(checked.diagram)}
    rows = []
    for name, stream in checked.streams.items():
        said = (
            roles.get(name),
            "output" if name in outputs else None,
            f"kept as {kept[name]}" if name in kept else None,
        )
        role = " and ".join(filter(None, said))
        rows.append([name, role or "-", str(stream.schema) or "no fields: control"])
    return [["stream", "is", "fields"], *rows]


def stime_of(given: Input) -> str:
    """Where the rows of an input get their stime from, in words."""
    stamp = given.stamp
    if stamp is None or stamp.field is None:
        return "the clock, when a row comes in"
    text = f"field {stamp.field}"
    if stamp.unit != 1:
        text += f", counting {spell(stamp.unit).removeprefix('1')}"
    if stamp.delay:
        text += f", rows up to {spell(stamp.delay)} out of order"
    if stamp.idle_after is not None:
        text += f", follows the clock when silent for {spell(stamp.idle_after)}"
    return f"{text}; late rows: {given.late}"


def silence_note(diagram: Diagram) -> str | None:
    """Which inputs the run waits for when they are silent: those that only their own rows bring forward."""
    waited = [
        given.stream
        for given in diagram.inputs
        if given.stamp is not None and given.stamp.field is not None and given.stamp.idle_after is None
    ]
    if not waited:
        return None
    return f"while {' or '.join(waited)} is silent, everything waits for it, since it has no idle_after; files end"


def input_rows(diagram: Diagram) -> list[list[str]]:
    return [["input", "stime"], *([given.stream, stime_of(given)] for given in diagram.inputs)]


def streams_json(checked: Checked) -> list[dict[str, Any]]:
    inputs = {given.stream: given for given in checked.diagram.inputs}
    outputs = {output.stream: output for output in checked.diagram.outputs}
    found = []
    for name, stream in checked.streams.items():
        one: dict[str, Any] = {
            "name": name,
            "fields": [{"name": f.name, "type": str(f.type)} for f in stream.schema.fields],
            "input": name in inputs,
            "output": name in outputs,
        }
        if name in inputs:
            stamp = inputs[name].stamp
            one["stime_field"] = stamp.field if stamp is not None else None
            one["late"] = str(inputs[name].late)
        if name in outputs:
            one["availability_us"] = outputs[name].availability
        found.append(one)
    return found
