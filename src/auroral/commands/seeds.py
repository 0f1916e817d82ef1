"""Many seeds on the command line: which, how far, what came out, and what failed; the same for every protocol."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from auroral.commands.terminal import columns, say
from auroral.model.errors import AuroralError

LINE_EVERY = 5.0


class Counted(Protocol):
    """How many seeds have been run, and what was broken in them."""

    seeds: int
    violations: int


def parse_seeds(given: str) -> range:
    first, dots, last = given.partition("..")
    try:
        found = range(int(first), int(last or first) + 1)
    except ValueError:
        found = range(0)
    if not found or (dots and not last):
        raise ArgumentTypeError(f"{given!r} is no range of seeds; write for example 0..299 or 17")
    return found


def read_schedule(file: str) -> str:
    if file == "-":
        return sys.stdin.read()
    try:
        return Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise AuroralError(f"{file} cannot be read: {error.strerror}\n    next: check the path") from error
    except UnicodeDecodeError as error:
        raise AuroralError(f"{file} cannot be read: {error}\n    allowed: UTF-8\n    next: save it as UTF-8") from error


@contextmanager
def progress(total: int, *, quiet: bool) -> Iterator[Callable[[Counted], None]]:
    """A bar on a terminal, a line now and then elsewhere; on standard error, so that results can be piped."""
    if quiet:
        yield lambda _: None
        return
    if sys.stderr.isatty():
        shown = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*shown, console=Console(file=sys.stderr)) as bar:
            task = bar.add_task("seeds", total=total)
            yield lambda done: bar.update(
                task, completed=done.seeds, description=f"seeds ({done.violations} violations)"
            )
        return
    said = time.monotonic()

    def line(done: Counted) -> None:
        nonlocal said
        if time.monotonic() - said >= LINE_EVERY or done.seeds == total:
            said = time.monotonic()
            say(f"{done.seeds} of {total} seeds, {done.violations} violations", sys.stderr)

    yield line


def timed(found: Mapping[str, object], seeds: int, began: float) -> dict[str, object]:
    """With how long it took."""
    seconds = time.monotonic() - began
    return {**found, "seconds": round(seconds, 1), "seeds_per_minute": round(60 * seeds / seconds, 1)}


def say_summary(found: Mapping[str, object]) -> None:
    say(columns([("what", "value"), *((name, _cell(value)) for name, value in found.items())], indent=0))


def say_failure(failure: dict[str, object]) -> None:
    violations = failure["violations"]
    assert isinstance(violations, list)
    say(f"seed {failure['seed']}: {len(violations)} violations")
    for violation in violations[:5]:
        say(f"  {violation}")
    say(f"  schedule: {failure['schedule']}")
    if "shortest" in failure:
        say(f"  shortest that still fails: {failure['shortest'] or '(no failures at all)'}")
    say(f"  replay: {failure['replay']}")


def _cell(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "-"
    return "-" if value is None else f"{value:,}" if isinstance(value, int | float) else str(value)
