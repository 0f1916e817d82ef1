"""`auroral explain`: a diagram's picture, boxes, streams, what is kept of them, and the Spark SQL that it becomes."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from auroral.commands.describing import Described, describe, from_packages, input_rows, stream_rows, streams_json
from auroral.commands.diagrams import must_be_used, read_source
from auroral.commands.options import add_diagram, add_functions, add_json, add_stime
from auroral.commands.programs import register_functions
from auroral.commands.sqlpage import Page, sql_page
from auroral.commands.terminal import FINE, WrongUse, columns, problems_json, say, say_json, say_problems
from auroral.model.checking import Checked, check
from auroral.model.duration import spell
from auroral.model.errors import AuroralError, DiagramError, unknown_name
from auroral.model.xml import Loaded

NAME = "explain"
SUMMARY = "show the picture, the boxes and the Spark SQL of a diagram; starts no Spark"
EXAMPLE = """\
  auroral explain examples/netmon.py
  auroral explain examples/grid.xml --stime north=sec:s --json"""


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a Borealis XML diagram, or a Python file that defines diagrams in module-level names, which is executed",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--small",
        dest="form",
        action="store_const",
        const="small",
        default="large",
        help="the SQL of small jobs, which most buckets of a live run are; without it that of large ones, which is easier to read",
    )
    form.add_argument(
        "--middle",
        dest="form",
        action="store_const",
        const="middle",
        help="the SQL of jobs between them, such as those that catch up: as small ones, but windows gather their rows first",
    )
    form.add_argument(
        "--batch",
        dest="form",
        action="store_const",
        const="batch",
        help="the SQL of `auroral batch` and `auroral verify`: no buckets, no slices",
    )
    add_stime(parser)
    add_functions(parser)
    add_diagram(parser)
    add_json(parser)


def run(args: Namespace) -> int:
    chosen = _chosen(args)
    checked = [check(loaded.diagram) for loaded in chosen]
    pages = [sql_page(one, args.form) if not one.blockers else None for one in checked]
    if args.json:
        both = zip(checked, pages, strict=True)
        say_json({"diagrams": [_json(one, page) for one, page in both]})
        return FINE
    for number, (one, page) in enumerate(zip(checked, pages, strict=True)):
        if number:
            say()
        _say(one, page)
    return FINE


def _chosen(args: Namespace) -> list[Loaded]:
    register_functions(args.functions)
    source = read_source(args.file, args.stime)
    if source.problems:
        raise DiagramError(source.problems, source.warnings)
    if source.deployment is not None:
        raise AuroralError(
            f"{args.file} is a deployment: there is no SQL in it\n"
            "    allowed: a diagram, as XML or Python\n"
            f"    next: auroral check DIAGRAM.xml {args.file}"
        )
    must_be_used(args.stime, [source])
    names = [loaded.diagram.name for loaded in source.diagrams]
    if args.diagram is not None and args.diagram not in names:
        raise WrongUse(str(unknown_name("diagram", args.diagram, names)))
    return [one for one in source.diagrams if args.diagram in (None, one.diagram.name)]


def _say(checked: Checked, page: Page | None) -> None:
    diagram = checked.diagram
    title = f"diagram {diagram.qualified(diagram.name)}: class {checked.box_class}, buckets of {spell(diagram.bucket)}"
    say(f"{title}\n{'=' * len(title)}")
    say_problems("warning", checked.warnings)
    _part("Picture (mermaid)", diagram.to_mermaid().rstrip())
    boxes = describe(checked)
    _part("Inputs", columns(input_rows(diagram)))
    _part("Boxes", columns(_box_rows(boxes)))
    if found := from_packages(checked):
        _part("Functions of packages", "\n".join(f"  {one}" for one in found))
    _part("Ports", columns([["box", "ports"], *([b.name, b.ports] for b in boxes)]))
    _part("Streams", columns(stream_rows(checked)))
    if page is None:
        say()
        say_problems("does not run yet", checked.blockers)
        return
    kept = [[one.name, one.what, one.how_long] for one in page.kept]
    _part("Kept edges", columns([["edge", "what", "how long"], *kept]))
    _part("Spark SQL", page.text.rstrip())


def _part(title: str, text: str) -> None:
    say(f"\n{title}\n{'-' * len(title)}\n{text}")


def _box_rows(boxes: list[Described]) -> list[list[str]]:
    head = ["box", "type", "class", "horizon", "order key", "stime of a result", "repeatable"]
    rows = [
        [b.name, b.type_text, b.box_class, b.horizon_text, b.order_key, b.result_stime, b.said(b.repeatable)]
        for b in boxes
    ]
    return [head, *rows]


def _json(checked: Checked, page: Page | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": checked.diagram.name,
        "participant": checked.diagram.participant,
        "bucket_us": checked.diagram.bucket,
        "class": str(checked.box_class),
        "mermaid": checked.diagram.to_mermaid(),
        "boxes": [box.to_json() for box in describe(checked)],
        "streams": streams_json(checked),
        "functions_of_packages": from_packages(checked),
        "warnings": problems_json(checked.warnings),
        "blockers": problems_json(checked.blockers),
        "kept": None,
        "sql": None,
    }
    if page is not None:
        found["kept"] = [{"edge": k.name, "what": k.what, "past_us": k.past} for k in page.kept]
        found["sql"] = page.statements
    return found
