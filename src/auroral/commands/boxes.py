"""`auroral boxes`: box types, functions and aggregates, those of installed packages among them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from auroral.commands.options import add_json
from auroral.commands.terminal import FINE, WRONG_INPUT, WrongUse, columns, problems_json, say, say_json, say_problems
from auroral.model.aggregates import BUILT_IN, packaged_aggregate
from auroral.model.boxes.base import BoxFacts
from auroral.model.boxes.later import LATER
from auroral.model.boxes.table import RUNNING
from auroral.model.boxes.user import BoxType, packaged_box
from auroral.model.errors import DiagramError, Problem, unknown_name
from auroral.model.expression import BUILTINS
from auroral.model.expression.functions import packaged_function
from auroral.model.packages import Kind, offers
from auroral.model.xml.boxes import SHAPES

NAME = "boxes"
SUMMARY = "list the box types, functions and aggregates that diagrams can have, with the packages that offer them"
EXAMPLE = """\
  auroral boxes
  auroral boxes filter count"""


@dataclass(frozen=True, slots=True)
class Known:
    """`package` is None for what is built in."""

    kind: Kind
    name: str
    package: str | None = None


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "names",
        metavar="NAME",
        nargs="*",
        help="of a box type, a function or an aggregate: what it is; packages that offer it are imported",
    )
    add_json(parser)


def run(args: Namespace) -> int:
    known = list(_known())
    if not args.names:
        return _list(known, args.json)
    for name in args.names:
        if name.lower() not in {one.name for one in known}:
            raise WrongUse(str(unknown_name("box, function or aggregate", name, sorted({one.name for one in known}))))
    wanted = [one for name in args.names for one in known if one.name == name.lower()]
    described = [_described(one) for one in wanted]
    problems = [problem for _, found in described for problem in found]
    if args.json:
        say_json({"found": [facts for facts, _ in described if facts], "problems": problems_json(problems)})
    else:
        for number, (facts, _) in enumerate(described):
            if facts:
                say("\n" * bool(number) + columns([[key.replace("_", " "), _text(facts[key])] for key in facts], 0))
        say_problems("error", problems)
    return WRONG_INPUT if problems else FINE


def _known() -> Iterator[Known]:
    """Built-in ones first; nothing is imported."""
    built_in = {
        Kind.BOX: {**dict.fromkeys(box.type for box in RUNNING), **dict.fromkeys(SHAPES)},
        Kind.FUNCTION: dict.fromkeys(BUILTINS),
        Kind.AGGREGATE: dict.fromkeys(BUILT_IN),
    }
    for kind, names in built_in.items():
        for name in names:
            yield Known(kind, name)
        for name, found in offers(kind).items():
            for offer in found:
                yield Known(kind, name, offer.package)


def _list(known: list[Known], as_json: bool) -> int:
    if as_json:
        say_json([{"kind": str(one.kind), "name": one.name, "package": one.package} for one in known])
        return FINE
    for kind, title in ((Kind.BOX, "box types"), (Kind.FUNCTION, "functions"), (Kind.AGGREGATE, "aggregates")):
        own = [one for one in known if one.kind is kind and one.package is None]
        runs = [one.name for one in own if one.name not in LATER]
        say(f"{title}: {', '.join(runs)}")
        if waiting := sorted(one.name for one in own if one.name in LATER):
            say(f"  load and do not run yet: {', '.join(waiting)}")
        for one in known:
            if one.kind is kind and one.package is not None:
                say(f"  {one.name} of {one.package}")
    return FINE


def _described(one: Known) -> tuple[dict[str, Any], tuple[Problem, ...]]:
    """What is known of it, and why a package's cannot be used."""
    head: dict[str, Any] = {one.kind.words.replace(" ", "_"): one.name, "from": one.package or "Auroral"}
    try:
        if one.kind is Kind.BOX:
            return {**head, **_box(one)}, ()
        if one.kind is Kind.FUNCTION:
            return {**head, **_function(one)}, ()
        return {**head, **_aggregate(one)}, ()
    except DiagramError as error:
        return {}, error.problems


def _box(one: Known) -> dict[str, Any]:
    taken = "built in" if one.package is None else None
    offered = packaged_box(one.name, taken)
    if offered is not None:
        return {"meaning": offered.meaning, "parameters": _parameters(offered), **asdict(offered.facts)}
    shape = SHAPES.get(one.name)
    facts: BoxFacts | None = next((box.facts for box in RUNNING if box.type == one.name), None)
    found: dict[str, Any] = {}
    if shape is not None:
        found["parameters"] = [*shape.required, *(f"{name} (optional)" for name in (*shape.optional, *shape.ours))]
    if one.name in LATER:
        return {**found, "runs": f"not yet: {LATER[one.name].why}"}
    return {**found, **(asdict(facts) if facts else {})}


def _parameters(offered: BoxType) -> list[str]:
    return [
        f"{one.name}: {one.form}" + ("" if one.required else f" (optional: {one.text(one.default) or 'none'})")
        for one in offered.parameters
    ]


def _function(one: Known) -> dict[str, Any]:
    found = packaged_function(one.name, "built in" if one.package is None else None)
    if found is not None:
        return {"signature": str(found), "meaning": (found.call.__doc__ or "").strip() if found.call else ""}
    return {"signature": BUILTINS[one.name].usage, "meaning": BUILTINS[one.name].meaning}


def _aggregate(one: Known) -> dict[str, Any]:
    found = packaged_aggregate(one.name, "built in" if one.package is None else None)
    return {"returns": str(found.returns)} if found is not None else {}


def _text(value: object) -> str:
    if isinstance(value, list):
        return "; ".join(value) or "none"
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
