"""Python files that define diagrams or register functions: run as a program would be, and searched for what they define."""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from collections.abc import Iterable
from contextlib import redirect_stdout
from typing import Any

from auroral.loading import file_bytes
from auroral.model.aggregates import REGISTERED
from auroral.model.builder import DiagramBuilder, check
from auroral.model.diagram import Diagram
from auroral.model.errors import AuroralError, DiagramError, Place, Problem
from auroral.model.expression import default_functions
from auroral.model.gathering import gathering

# Not `__main__`: what a file does only as a program (`if __name__ == "__main__"`) is not wanted here.
RUN_NAME = "__auroral__"


def diagrams_of_program(file: str) -> list[Diagram | DiagramBuilder]:
    """The diagrams that stand in module-level names of `file`, in their order.

    Where a call in the file is refused, the DiagramError has all that is wrong, with these diagrams too.
    """
    found: dict[int, Diagram | DiagramBuilder] = {}
    with gathering() as noted:
        try:
            values = _run(file).values()
        except DiagramError as error:
            problems = dict.fromkeys([*noted, *error.problems])
            raise DiagramError(problems, error.warnings) from error
    for value in values:
        if isinstance(value, Diagram | DiagramBuilder):
            found.setdefault(id(value), value)
    if noted:
        raise DiagramError(_all_that_is_wrong(noted, found.values()))
    if not found:
        raise DiagramError(
            [
                Problem(
                    f"{file} defines no diagram",
                    allowed="a module-level name for what auroral.diagram(...) returns",
                    next_step="write for example `d = auroral.diagram('name')` at the top of the file",
                )
            ]
        )
    return list(found.values())


def _all_that_is_wrong(noted: Iterable[Problem], diagrams: Iterable[Diagram | DiagramBuilder]) -> list[Problem]:
    """By their lines; a refused step is told of by its diagram too."""
    problems = list(noted)
    for diagram in diagrams:
        try:
            check(diagram)
        except DiagramError as error:
            problems += error.problems
    return sorted(dict.fromkeys(problems), key=lambda one: one.place.line or 0)


def register_functions(files: Iterable[str]) -> None:
    """Run files that register functions or aggregates; one that registers none is a mistake."""
    for file in files:
        file_bytes(file, (".py",))
        before, aggregates = default_functions(), dict(REGISTERED)
        _run(file)
        if default_functions() is before and all(aggregates.get(n) is one for n, one in REGISTERED.items()):
            raise DiagramError(
                [
                    Problem(
                        f"{file} registers no function",
                        allowed="a Python file that calls auroral.register_function or auroral.aggregate_function, or has "
                        "functions with @auroral.function",
                        next_step='write for example auroral.register_function("half", f, "int", "double") in it',
                    )
                ]
            )


def _run(file: str) -> dict[str, Any]:
    folder = os.path.dirname(os.path.abspath(file))
    if folder not in sys.path:
        # As for `python FILE`: modules beside it can be imported, also while the diagram runs.
        sys.path.insert(0, folder)
    try:
        # Standard output is the command's own, and may be JSON.
        with redirect_stdout(sys.stderr):
            return runpy.run_path(file, run_name=RUN_NAME)
    except AuroralError:
        raise
    except SyntaxError as error:
        place = Place(error.filename or file, error.lineno)
        problem = Problem(
            f"this is not Python: {error.msg}", place, "a Python program", "mend this line or the one before"
        )
        raise DiagramError([problem]) from error
    except (Exception, SystemExit) as error:
        raise DiagramError([_failed(file, error)]) from error


def _failed(file: str, error: BaseException) -> Problem:
    """The last line of the user's file on the way to the error."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    said = f"{type(error).__name__}: {error}".rstrip(": ")
    return Problem(
        f"the program stops with {said}",
        Place(file, own[-1].lineno if own else None),
        next_step=f"run it by itself to see more: python {file}",
    )
