"""`auroral batch`: the whole input as one plain Spark batch: what a run must be equal to."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace

from auroral.commands.options import add_json, add_streams
from auroral.commands.preflight import plan
from auroral.commands.spark import failed_in_spark, must_have_java, session_for
from auroral.commands.terminal import FINE, WRONG_INPUT, say, say_json, say_problems, untaken
from auroral.model.errors import AuroralError

NAME = "batch"
SUMMARY = "run a diagram once over the whole input, as one plain Spark batch"
EXAMPLE = """\
  auroral batch examples/grid.xml --input north=examples/north.csv --input south=examples/south.csv \\
      --output deviations=deviations.csv"""


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a Borealis XML diagram, or a Python file that defines one in a module-level name, which is executed",
    )
    add_streams(parser)
    add_json(parser)


def run(args: Namespace) -> int:
    todo = plan(args)
    must_have_java(args.master)
    say_problems("warning", todo.warnings, sys.stderr)
    session = session_for(args.master, debug=args.debug)
    from auroral.app import batch

    # A batch run has no pace: everything is there at once.
    inputs = {stream: replace(spec, speed=None) for stream, spec in todo.inputs.items()}
    try:
        result = batch(todo.checked, inputs, todo.outputs, session=session, flush=todo.flush)
    except AuroralError:
        raise
    except Exception as error:
        raise failed_in_spark("the batch run", error) from error
    to = sys.stderr if todo.prints_rows else sys.stdout
    if args.json:
        rows = {stream: table.num_rows for stream, table in result.tables.items()}
        ledger = [{"stream": r.stream, "reason": r.reason.value, "count": r.count} for r in result.ledger.rows()]
        told = {"rows": rows, "until": result.until, "ledger": ledger, "outputs": dict(todo.outputs)}
        say_json({**told, "error": "\n".join(result.untaken) or None}, to=to)
        return WRONG_INPUT if result.untaken else FINE
    for stream, table in result.tables.items():
        place = f" in {todo.outputs[stream]}" if stream in todo.outputs else ""
        say(f"output {stream}: {table.num_rows:,} rows{place}", to)
    say(f"ledger: {result.ledger}", to)
    say_problems("error", (untaken(text) for text in result.untaken), sys.stderr)
    return WRONG_INPUT if result.untaken else FINE
