"""Text on a terminal: lines, columns, problems, and the same things as JSON."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from auroral.edge.textfiles import ExtraColumns
from auroral.model.errors import AuroralError, DiagramError, Problem

FINE, WRONG_INPUT, WRONG_USE = 0, 1, 2


class WrongUse(AuroralError):
    """Arguments that do not fit the command or the diagram: exit code 2."""


def say(text: str = "", to: TextIO | None = None) -> None:
    stream = to or sys.stdout
    stream.write(text + "\n")
    stream.flush()


def say_json(value: object, *, indent: int | None = 2, to: TextIO | None = None) -> None:
    say(json.dumps(value, indent=indent, ensure_ascii=False), to)


def columns(rows: Sequence[Sequence[str]], indent: int = 2) -> str:
    """Rows as aligned columns; the first row is the head."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        lines.append(" " * indent + cells.rstrip())
    return "\n".join(lines)


def say_problems(kind: str, problems: Iterable[Problem], to: TextIO | None = None) -> None:
    for problem in problems:
        say(f"{kind}: {problem}", to)


def problem_json(problem: Problem) -> dict[str, Any]:
    place = problem.place
    return {
        "what": problem.what,
        "file": place.file,
        "line": place.line,
        "element": place.element,
        "allowed": problem.allowed,
        "next": problem.next_step,
    }


def problems_json(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    return [problem_json(problem) for problem in problems]


def problems_of(error: AuroralError) -> tuple[Problem, ...]:
    """What an error says, one by one."""
    return error.problems if isinstance(error, DiagramError) else (Problem(str(error)),)


def untaken(text: str, kept: str = "") -> Problem:
    """An input of which every row was left out: what was asked for was done, and is hardly what was meant."""
    return Problem(
        text,
        allowed="rows that convert to the fields of the schema",
        next_step=f"if its rows are needed, mend its file or its schema and begin a new run; what other inputs gave stands{kept}",
    )


@contextmanager
def own_warnings() -> Iterator[None]:
    """Within, warnings about the user's data are said in our words, each once; others as Python says them."""
    seen: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("always", ExtraColumns)
        as_python_does = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if not issubclass(category, ExtraColumns):
                as_python_does(message, category, filename, lineno, file, line)
            elif str(message) not in seen:
                seen.add(str(message))
                say(f"warning: {message}", sys.stderr)

        warnings.showwarning = show
        yield
