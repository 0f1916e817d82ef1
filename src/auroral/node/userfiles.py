"""The files that a run wrote for its user, compared with the run's own copy of its outputs.

`verify` judges the own copy against a batch run. What the user holds in the hand is compared with that copy: text byte by
byte, Parquet row by row, as far as the file's commit says. A file that is gone is no fault: it may have been moved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from auroral.edge.commits import Commit, load
from auroral.edge.sinks import LINE_SUFFIXES, OutputError
from auroral.edge.spelling import csv_header, csv_lines, json_lines
from auroral.model.schema import Schema
from auroral.node.account import Account
from auroral.node.compare import compare
from auroral.node.outputlog import DamagedOutput, OutputLog
from auroral.node.runfolder import RunFolder

NEWLINE = b"\n"


@dataclass(frozen=True, slots=True)
class FileReport:
    """A file of an output. `ok` is None where there was nothing to compare, and `what` says why."""

    stream: str
    path: str
    ok: bool | None
    what: str

    def __str__(self) -> str:
        return f"file {self.path} of {self.stream}: {self.what}"


def judged_files(folder: RunFolder) -> tuple[FileReport, ...]:
    """Every file that the run was begun with, except standard output, of which nothing is left."""
    finished = Account.load(folder.account).finished
    return tuple(
        _judged(folder, stream, Path(path), finished)
        for stream, path in folder.settings.outputs.items()
        if path != "-" and folder.output(stream).exists()
    )


def _judged(folder: RunFolder, stream: str, path: Path, finished: bool) -> FileReport:
    schema, owner = folder.checked.streams[stream].schema, folder.settings.run
    is_text = path.suffix.lower() in LINE_SUFFIXES
    if not path.exists():
        return FileReport(stream, str(path), None, "is not there any more; the run's own copy was judged")
    try:
        commit = load(
            path.with_name(path.name + ".commit") if is_text else path / "_commit.json", path, str(schema), owner
        )
        if commit is None:
            return FileReport(stream, str(path), None, "has lost its commit, so that it cannot be judged")
        # After the commit: the own copy is written first, so that it has at least what the file has.
        own = OutputLog.look(folder.output(stream), schema)
        wrong = _text(path, schema, commit, own, finished) if is_text else _parquet(path, schema, own)
    except (OutputError, DamagedOutput) as error:
        wrong = str(error).splitlines()[0]
    except OSError as error:
        wrong = f"cannot be read: {error.strerror}"
    return FileReport(
        stream, str(path), wrong is None, f"DIFFERENT: {wrong}" if wrong else "equal to the run's own copy"
    )


def _text(path: Path, schema: Schema, commit: Commit, own: OutputLog, finished: bool) -> str | None:
    """What is wrong with a CSV or JSON file; None where nothing is."""
    line = 1
    with path.open("rb") as file:
        for expected in _spelt(path, schema, commit, own):
            found = file.read(len(expected))
            if found != expected:
                pairs = zip_longest(found.split(NEWLINE), expected.split(NEWLINE))
                at = next((number for number, (a, b) in enumerate(pairs) if a != b), 0)
                return f"line {line + at} is not as it was written"
            line += expected.count(NEWLINE)
        if file.tell() != commit.length or (finished and file.read(1)):
            return f"it goes on behind line {line - 1}, where the output ends"
    return None


def _spelt(path: Path, schema: Schema, commit: Commit, own: OutputLog) -> Iterator[bytes]:
    if commit.frontier is None:
        return
    as_csv = path.suffix.lower() == ".csv"
    if as_csv:
        yield csv_header([schema.stime_name, *schema.names]).encode()
    for piece in own.pieces(None, commit.frontier):
        yield (csv_lines(piece) if as_csv else json_lines(piece)).encode()


def _parquet(path: Path, schema: Schema, own: OutputLog) -> str | None:
    theirs = OutputLog.look(path, schema)
    if theirs.frontier is None:
        return None
    found = compare(theirs.read(), own.read(None, theirs.frontier), most=1)
    if found.equal:
        return None
    return f"{found.only_run} rows are only in it, and {found.only_batch} are missing"
