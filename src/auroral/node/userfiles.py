"""The files that a run wrote for its user, compared with the run's own copy of its outputs.

`verify` judges the own copy against a batch run. What the user holds in the hand is compared with that copy: text byte by
byte, Parquet row by row, as far as the file's commit says; of a finished run the commit may be gone. A file that is gone is
no fault: it may have been moved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from itertools import zip_longest
from pathlib import Path

from auroral.edge.commits import Commit, commit_path, load
from auroral.edge.parquetsink import stored_parts
from auroral.edge.sinks import OutputError, is_text
from auroral.edge.spelling import csv_header, csv_lines, json_lines
from auroral.model.schema import Schema
from auroral.node.account import Account
from auroral.node.compare import Difference, compare
from auroral.node.outputlog import DamagedOutput, OutputLog
from auroral.node.runfolder import RunFolder

NEWLINE = b"\n"
_SHOWN_BEFORE, _SHOWN = 40, 120


@dataclass(frozen=True, slots=True)
class FoundEqual:
    """How much of a file was found equal: up to stime `frontier`, the first `length` bytes or parts, with `lines` lines."""

    frontier: int
    length: int
    lines: int = 0


@dataclass(frozen=True, slots=True)
class FileReport:
    """A file of an output. `ok` is None where there was nothing to compare, and `what` says why."""

    stream: str
    path: str
    ok: bool | None
    what: str
    equal: FoundEqual | None = None

    def __str__(self) -> str:
        return f"file {self.path} of {self.stream}: {self.what}"


class _Different(Exception):
    """A file that is not what the run wrote: where, and how."""


def judged_files(folder: RunFolder, earlier: Mapping[str, FoundEqual] | None = None) -> tuple[FileReport, ...]:
    """Every file that the run was begun with, except standard output, of which nothing is left.

    What was found equal `earlier` is not looked at again.
    """
    finished = Account.load(folder.account).finished
    return tuple(
        _judged(folder, stream, Path(path), finished, (earlier or {}).get(stream))
        for stream, path in folder.settings.outputs.items()
        if path != "-" and folder.output(stream).exists()
    )


def _judged(folder: RunFolder, stream: str, path: Path, finished: bool, earlier: FoundEqual | None) -> FileReport:
    schema, owner = folder.checked.streams[stream].schema, folder.settings.run
    if not path.exists():
        return FileReport(stream, str(path), None, "is not there any more; the run's own copy was judged")
    try:
        commit = load(path, str(schema), owner)
        if commit is None:
            if not finished:
                raise _Different(f"its commit, {commit_path(path).name}, is gone: how much of it counts is not known")
            commit = _of_whole(path, schema, owner, OutputLog.look(folder.output(stream), schema))
        if commit.frontier is None:
            return FileReport(stream, str(path), True, "nothing was written to it yet")
        if earlier is not None and (commit.frontier < earlier.frontier or commit.length < earlier.length):
            # Put back from an older copy, or written anew.
            earlier = None
        theirs = None if is_text(path) else OutputLog(path, schema, None, commit)
        # Last of all: the own copy is written first, so that it then has at least what the file has.
        own = OutputLog.look(folder.output(stream), schema)
        if theirs is None:
            equal = _text(path, schema, commit, own, finished, earlier)
        else:
            equal = _parquet(theirs, own, earlier)
    except _Different as error:
        return FileReport(stream, str(path), False, f"DIFFERENT: {error}")
    except (OutputError, DamagedOutput) as error:
        return FileReport(stream, str(path), False, f"DIFFERENT: {str(error).splitlines()[0]}")
    except OSError as error:
        return FileReport(stream, str(path), False, f"DIFFERENT: cannot be read: {error.strerror or error}")
    part = "" if earlier is None else f"from stime {earlier.frontier} on, "
    return FileReport(stream, str(path), True, f"{part}equal to the run's own copy", equal)


def _of_whole(path: Path, schema: Schema, owner: str, own: OutputLog) -> Commit:
    """The commit of a file that must have all that the run gave."""
    length = path.stat().st_size if is_text(path) else len(stored_parts(path)[0])
    return Commit(str(schema), owner, own.frontier, length)


def _text(
    path: Path, schema: Schema, commit: Commit, own: OutputLog, finished: bool, earlier: FoundEqual | None
) -> FoundEqual:
    assert commit.frontier is not None
    lines = earlier.lines if earlier else 0
    with path.open("rb") as file:
        file.seek(earlier.length if earlier else 0)
        for expected in _spelt(path, schema, own, earlier.frontier if earlier else None, commit.frontier):
            found = file.read(len(expected))
            if found != expected:
                raise _Different(_changed_line(found + file.readline(), expected, lines + 1))
            lines += expected.count(NEWLINE)
        if file.tell() != commit.length or (finished and file.read(1)):
            raise _Different(f"it goes on behind line {lines}, where the output ends")
    return FoundEqual(commit.frontier, commit.length, lines)


def _spelt(path: Path, schema: Schema, own: OutputLog, since: int | None, until: int) -> Iterator[bytes]:
    as_csv = path.suffix.lower() == ".csv"
    if as_csv and since is None:
        yield csv_header([schema.stime_name, *schema.names]).encode()
    for piece in own.pieces(since, until):
        yield (csv_lines(piece) if as_csv else json_lines(piece)).encode()


def _changed_line(found: bytes, expected: bytes, first: int) -> str:
    pairs = zip_longest(BytesIO(found), BytesIO(expected), fillvalue=b"")
    number, there, written = next((first + at, a, b) for at, (a, b) in enumerate(pairs) if a != b)
    differ = (at for at, (a, b) in enumerate(zip(there, written, strict=False)) if a != b)
    begin = max(0, next(differ, min(len(there), len(written))) - _SHOWN_BEFORE)
    is_there = f"is {_excerpt(there, begin)}" if there else "is missing"
    return f"line {number} {is_there}, but the run wrote {_excerpt(written, begin)}"


def _excerpt(line: bytes, begin: int) -> str:
    shown = line[begin : begin + _SHOWN].decode(errors="replace")
    return repr(("..." if begin else "") + shown + ("..." if begin + _SHOWN < len(line) else ""))


def _parquet(theirs: OutputLog, own: OutputLog, earlier: FoundEqual | None) -> FoundEqual:
    assert theirs.frontier is not None
    added, missing = 0, 0
    first: Difference | None = None
    at = earlier.frontier if earlier else None
    # Part by part: an output may be larger than the memory.
    for end, rows in theirs.ranges(at):
        found = compare(rows, own.read(at, end), most=1)
        added, missing, at = added + found.only_run, missing + found.only_batch, end
        first = first or next(iter(found.first), None)
    if first is not None:
        side = "only in it" if first.side == "run" else "missing"
        what = f"rows only in it: {added}, missing: {missing}; the first, {side}: stime {first.stime} {first.row}"
        raise _Different(what)
    return FoundEqual(theirs.frontier, theirs.parts)
