"""What of a run was verified: up to which stime, with which totals, and the fold state to go on from.

The state is not a snapshot that the run took, but the one that the batch run itself came to: a wrong snapshot of the
run can make the run wrong, but never the judge. `verified.json` names it by its hash; one that was changed is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from auroral.edge import checkedjson
from auroral.edge.checkedjson import digest
from auroral.edge.durable import make_folder, replace_file, storage_error
from auroral.engine.foldstates import MAGIC
from auroral.model.errors import AuroralError
from auroral.node.account import Counts
from auroral.node.runfolder import RunFolder
from auroral.node.userfiles import FoundEqual

FORMAT = 2


class VerifiedError(AuroralError):
    """A record of a verification that is missing, damaged, or not of this run."""


@dataclass(frozen=True, slots=True)
class Logged:
    """An input when it was verified: its records, the rows in them, and the rows of the input behind them.

    `rejected` rows were in the first `rejected_bytes` of the file that keeps them.
    """

    records: int
    rows: int
    rows_read: int
    rejected: int
    rejected_bytes: int


@dataclass(frozen=True, slots=True)
class Link:
    """Verifications by the same versions, one after the other: `pieces` of them, the last one at `when`."""

    until: int
    when: str
    auroral: str
    pyspark: str
    pieces: int = 1

    def __str__(self) -> str:
        many = f"{self.pieces} verifications, the last one of" if self.pieces > 1 else "the verification of"
        return f"{many} {self.when} (auroral {self.auroral}, pyspark {self.pyspark})"


@dataclass(frozen=True, slots=True)
class Verified:
    """Everything below stime `until` was found equal. `start` is the run's first bucket.

    `rows_in`, `counts` and `output_rows` are the run's totals at `until`; `logged` is where its source logs ended when
    they were read, `files` how much of the user's files was found equal, `functions` what the diagram's functions were. `state_at` is where the stored fold state holds and `state` its hash; None for no fold state.
    `chain` is on what all this rests, the oldest first.
    """

    run: str
    start: int
    until: int
    rows_in: int
    counts: Counts
    output_rows: Mapping[str, int]
    logged: Mapping[str, Logged]
    files: Mapping[str, FoundEqual]
    functions: str
    chain: tuple[Link, ...]
    state_at: int | None = None
    state: str | None = None

    def followed_by(self, link: Link) -> tuple[Link, ...]:
        """The chain with one more link; those of the same versions are one."""
        last = self.chain[-1]
        if (last.auroral, last.pyspark) == (link.auroral, link.pyspark):
            return (*self.chain[:-1], replace(link, pieces=last.pieces + 1))
        return (*self.chain, link)

    @property
    def rests_on(self) -> str:
        return "; before that ".join(str(link) for link in reversed(self.chain))


def save(folder: RunFolder, found: Verified, state: bytes | None) -> None:
    """Durable when this returns: the fold state first, then the record that names it; then older states go."""
    try:
        if state is not None:
            make_folder(folder.verified_states)
            replace_file(_state_path(folder, found), state)
        replace_file(folder.verified, _to_json(found))
        for path in folder.verified_states.glob("*"):
            if path != _state_path(folder, found):
                path.unlink()
    except OSError as error:
        raise storage_error(error, "the record of the verification", folder.verified) from error


def load(folder: RunFolder) -> Verified | None:
    """What was verified of this run; None where nothing was."""
    path = folder.verified
    try:
        found = _from_json(checkedjson.parse(path.read_bytes(), FORMAT))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise _refused(f"{path} cannot be read as the record of a verification: {error}") from error
    if found.run != folder.settings.run:
        raise _refused(f"{path} is of another run ({found.run}, not {folder.settings.run})")
    return found


def load_state(folder: RunFolder, found: Verified) -> bytes | None:
    """The fold state to go on from, compared with its hash; None where folds begin with nothing."""
    if found.state_at is None:
        return None
    path = _state_path(folder, found)
    try:
        state = path.read_bytes()
    except OSError as error:
        raise _refused(
            f"{path}, the fold state that was verified, cannot be read: {error.strerror or error}"
        ) from error
    if digest(state) != found.state:
        raise _refused(f"{path}, the fold state that was verified, is not what it was then (its hash does not match)")
    if not state.startswith(MAGIC):
        raise _refused(f"{path}, the fold state that was verified, was written by an earlier version of auroral")
    return state


def _refused(what: str) -> VerifiedError:
    return VerifiedError(
        f"{what}\n"
        "    allowed: verified.json and verified/ as a verification of this run wrote them\n"
        "    next: restore them from a copy; or, if nothing was pruned, compare the whole run: auroral verify RUN_FOLDER"
    )


def _state_path(folder: RunFolder, found: Verified) -> Path:
    # By its hash, so that a new state never takes the place of one that the record still names.
    return folder.verified_states / f"{found.state_at}-{found.state}.state"


def _to_json(found: Verified) -> bytes:
    nested: dict[str, dict[str, int]] = {}
    for (box, reason), count in sorted(found.counts.items()):
        nested.setdefault(box, {})[reason] = count
    stored = {name: getattr(found, name) for name in found.__slots__} | {
        "counts": nested,
        "output_rows": dict(found.output_rows),
        "logged": {stream: asdict(logged) for stream, logged in found.logged.items()},
        "files": {stream: asdict(equal) for stream, equal in found.files.items()},
        "chain": [asdict(link) for link in found.chain],
    }
    return checkedjson.dump(stored, FORMAT)


def _from_json(stored: dict[str, Any]) -> Verified:
    counts = {(box, reason): int(n) for box, by in stored.pop("counts").items() for reason, n in by.items()}
    logged = {stream: Logged(**given) for stream, given in stored.pop("logged").items()}
    files = {stream: FoundEqual(**given) for stream, given in stored.pop("files").items()}
    chain = tuple(Link(**given) for given in stored.pop("chain"))
    return Verified(**stored, counts=counts, logged=logged, files=files, chain=chain)
