"""Which part of a run is to be compared, and what is recorded of it afterwards.

A piece begins where the last verification ended, at stime V. Its batch run reads rows from one horizon before V on. With
folds it takes up the state at a stime S one horizon before V, and reads rows from one horizon before S on; that state
came out of the earlier batch run, so that a piece rests on nothing that the run itself computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from auroral.edge.checkedjson import digest
from auroral.edge.durable import StorageError
from auroral.engine.batch import Piece, fold_states
from auroral.node import verified
from auroral.node.evaluator import Session
from auroral.node.functionwords import function_words
from auroral.node.inputsums import InputSums
from auroral.node.ranges import piece_start
from auroral.node.standing import Standing
from auroral.node.userfiles import FileReport
from auroral.node.verified import Link, Verified, VerifiedError
from auroral.node.verifylock import alone

_MENDED = "functions were mended since the last verification, which came to its fold state with the earlier ones"


@dataclass(frozen=True, slots=True)
class Stretch:
    """What to compare: all of a run, or the `piece` that follows what was verified `earlier`."""

    earlier: Verified | None = None
    piece: Piece | None = None
    note: str | None = None


def stretch_of(run: Standing, since_last: bool) -> Stretch:
    """The whole run, unless only what is new is asked for, or what is old was pruned."""
    if run.kept_from is None and not since_last:
        return Stretch()
    earlier = verified.load(run.folder)
    if earlier is None:
        if run.kept_from is not None:
            raise _record_missing(run)
        return Stretch(note="this run was never verified before: all of it was compared")
    if run.limits.folds and not run.limits.restorable:
        return Stretch(note="a fold reads windows over another fold's results: all of the run was compared")
    mended = run.limits.folds and earlier.functions != function_words(run.folder.checked)
    if mended and run.kept_from is None:
        return Stretch(note=f"{_MENDED}: all of the run was compared")
    _must_follow(run, earlier)
    folds_from, begin = piece_start(earlier.start, earlier.until, run.limits)
    _must_be_kept(run, begin)
    piece = Piece(begin, earlier.until)
    if run.limits.folds:
        piece = Piece(begin, earlier.until, folds_from, verified.load_state(run.folder, earlier))
    notes = []
    if run.kept_from is not None:
        notes.append(f"rows before stime {run.kept_from} were pruned: what they gave cannot be compared again")
    if mended:
        notes.append(f"{_MENDED}: a difference may come from that alone")
    return Stretch(earlier, piece, "; ".join(notes) or None)


def record(
    session: Session,
    run: Standing,
    stretch: Stretch,
    inputs: Mapping[str, InputSums],
    files: Iterable[FileReport],
    lock: int | None,
    scratch: Path,
) -> str | None:
    """After everything was found equal: note down up to where, and what the next piece needs. Gives why it could not."""
    account, earlier = run.account, stretch.earlier
    if earlier is not None and earlier.until == account.frontier:
        return None
    if run.folder.deployed:
        # The whole of it is compared each time.
        return None
    if account.start is None or account.frontier is None or not run.settled:
        return "this verification was not recorded: the run was cut off between an output and its counts"
    if lock is None:
        return "this verification was not recorded: the folder cannot be written"
    state_at, state = _state(session, run, stretch, inputs, scratch)
    if not alone(lock):
        return "this verification was not recorded: another process verifies this folder too"
    link = Link(account.frontier, datetime.now(UTC).isoformat(timespec="seconds"), *_versions())
    found = Verified(
        run=run.folder.settings.run,
        start=account.start,
        until=account.frontier,
        rows_in=account.rows_in,
        counts=account.counts,
        output_rows={stream: log.rows for stream, log in run.outputs.items()},
        logged={stream: sums.logged for stream, sums in inputs.items()},
        files={file.stream: file.equal for file in files if file.equal is not None},
        functions=function_words(run.folder.checked),
        chain=(link,) if earlier is None else earlier.followed_by(link),
        state_at=state_at,
        state=None if state is None else digest(state),
    )
    try:
        verified.save(run.folder, found, state)
    except StorageError as error:
        return f"this verification was not recorded: {error}"
    return None


def _state(
    session: Session, run: Standing, stretch: Stretch, inputs: Mapping[str, InputSums], scratch: Path
) -> tuple[int | None, bytes | None]:
    """Where the next piece takes up fold state, and that state; nothing where folds begin there or there are none."""
    start, frontier = run.account.start, run.account.frontier
    assert start is not None and frontier is not None
    at, _ = piece_start(start, frontier, run.limits)
    if not run.limits.snapshots or at == start:
        return None, None
    piece = stretch.piece or Piece(start, start, folds_from=start)
    if at == piece.folds_from:
        return at, piece.states
    rows = {stream: sums.rows for stream, sums in inputs.items()}
    return at, fold_states(session, run.folder.checked, rows, piece, at, scratch)


def _versions() -> tuple[str, str]:
    return _version("auroral"), _version("pyspark")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


def _must_follow(run: Standing, earlier: Verified) -> None:
    """Refuse a record that speaks of more than the run has."""
    frontiers = [run.account.frontier, *(log.frontier for log in run.outputs.values())]
    wrong = None
    if run.account.start != earlier.start:
        wrong = f"began at stime {earlier.start}, but the run began at {run.account.start}"
    elif any(f is None or f < earlier.until for f in frontiers):
        reached = min((f for f in frontiers if f is not None), default="its beginning")
        wrong = f"was verified up to stime {earlier.until}, but the run is only at {reached}"
    if wrong is not None:
        raise VerifiedError(
            f"{run.folder.verified} says that the run {wrong}\n"
            "    allowed: a run that has gone on since it was verified\n"
            "    next: restore the whole run folder from one copy; or, if nothing was pruned, remove verified.json and "
            "compare the whole run: auroral verify RUN_FOLDER"
        )


def _must_be_kept(run: Standing, begin: int) -> None:
    if run.kept_from is not None and begin < run.kept_from:
        raise VerifiedError(
            f"{run.folder.verified} needs rows from stime {begin} on, but rows before {run.kept_from} were pruned\n"
            "    allowed: the record of the verification before the folder was pruned, or of a later one\n"
            "    next: restore verified.json and verified/ from a newer copy"
        )


def _record_missing(run: Standing) -> VerifiedError:
    return VerifiedError(
        f"rows before stime {run.kept_from} were pruned, and {run.folder.verified} is missing: it says on what the rest "
        "can be verified\n    allowed: a pruned run folder with the record of its last verification\n"
        "    next: restore verified.json and verified/ from a copy"
    )
