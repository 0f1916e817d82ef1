"""What a source log knows of its own past: the state behind its records, and what was pruned before the first of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from auroral.edge import checkedjson
from auroral.edge.durable import replace_file
from auroral.edge.ledger import Ledger, LedgerError
from auroral.edge.records import DamagedSegment, Header
from auroral.edge.stamping import StampState

FORMAT = 2


@dataclass(frozen=True, slots=True)
class LogState:
    """Where the log ends: what a source goes on from.

    `rows` is how many rows it holds; `rows_read` how many rows of the input are behind it, refused ones
    included: what to skip when reading on. `ended` says that the end of input was logged.
    """

    stamp: StampState = field(default_factory=StampState)
    ledger: Ledger = field(default_factory=Ledger)
    rows: int = 0
    rows_read: int = 0
    ended: bool = False

    @property
    def boundary(self) -> int | None:
        return self.stamp.boundary

    def after(self, header: Header, stream: str) -> LogState:
        """After one more record."""
        return LogState(
            header.state,
            self.ledger.add_all(stream, header.counts),
            self.rows + header.rows,
            header.rows_read,
            header.ended,
        )


@dataclass(frozen=True, slots=True)
class LogBase:
    """Where a log begins: with record `first`, in segment `segment`, in the state that the records before it left.

    Rows with an stime below `below` may be gone; None where nothing ever was.
    """

    first: int = 0
    segment: int = 1
    below: int | None = None
    state: LogState = field(default_factory=LogState)
    rejected_bytes: int = 0

    def save(self, folder: Path) -> None:
        state = self.state
        stored: dict[str, Any] = {
            "first": self.first,
            "segment": self.segment,
            "below": self.below,
            "stamp": state.stamp.to_json(),
            "ledger": state.ledger.to_json(),
            "rows": state.rows,
            "rows_read": state.rows_read,
            "ended": state.ended,
            "rejected_bytes": self.rejected_bytes,
        }
        replace_file(_path(folder), checkedjson.dump(stored, FORMAT))

    @staticmethod
    def load(folder: Path) -> LogBase:
        """What `pruned.json` says; the beginning of all where there is none."""
        path = _path(folder)
        try:
            stored = checkedjson.parse(path.read_bytes(), FORMAT)
            state = LogState(
                StampState.from_json(stored["stamp"]),
                Ledger.from_json(stored["ledger"]),
                stored["rows"],
                stored["rows_read"],
                stored["ended"],
            )
            return LogBase(stored["first"], stored["segment"], stored["below"], state, stored["rejected_bytes"])
        except FileNotFoundError:
            return LogBase()
        except (ValueError, KeyError, TypeError, AttributeError, LedgerError) as error:
            what = f"this says what was pruned from the log, and cannot be read ({error})"
            raise DamagedSegment(path, 0, what) from error


def _path(folder: Path) -> Path:
    return folder / "pruned.json"
