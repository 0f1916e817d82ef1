"""How far a run has come: its frontier and the engine's counts, committed together.

`ledger.json` is replaced in one step after the outputs of a range are durable, so that it never runs ahead of
them: a range whose outputs were written and whose counts were not is evaluated again, and counted once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from auroral.edge.durable import replace_file, storage_error
from auroral.edge.ledger import Ledger, Reason
from auroral.model.errors import AuroralError

FORMAT = 1
Counts = Mapping[tuple[str, str], int]


class AccountError(AuroralError):
    """A ledger.json that cannot be read."""


@dataclass(frozen=True, slots=True)
class Account:
    """`start` is the run's first bucket, `frontier` the first stime that is not evaluated, None before that.

    `end` is the boundary at the end of all input, once that is known. `counts` are the engine's, by box and
    reason; those of sources are in the source logs.
    """

    start: int | None = None
    frontier: int | None = None
    end: int | None = None
    finished: bool = False
    jobs: int = 0
    rows_in: int = 0
    counts: Counts = field(default_factory=dict)

    def evaluated(self, hi: int, rows_in: int, counts: Counts) -> Account:
        """After one more range, up to `hi`."""
        merged = dict(self.counts)
        for key, count in counts.items():
            merged[key] = merged.get(key, 0) + count
        return replace(self, frontier=hi, jobs=self.jobs + 1, rows_in=self.rows_in + rows_in, counts=merged)

    def ledger(self) -> Ledger:
        """The engine's counts in the ledger's words, under the names of the boxes."""
        known = set(Reason)
        ledger = Ledger()
        for (box, reason), count in self.counts.items():
            # What the ledger has no word of its own for, a box has rejected.
            ledger = ledger.add(box, Reason(reason) if reason in known else Reason.REJECTED, count)
        return ledger

    def save(self, path: Path) -> None:
        nested: dict[str, dict[str, int]] = {}
        for (box, reason), count in sorted(self.counts.items()):
            nested.setdefault(box, {})[reason] = count
        stored = {name: getattr(self, name) for name in self.__slots__} | {"format": FORMAT, "counts": nested}
        try:
            replace_file(path, json.dumps(stored, ensure_ascii=False, indent=1).encode())
        except OSError as error:
            raise storage_error(error, "the run's frontier and counts", path) from error

    @staticmethod
    def load(path: Path) -> Account:
        """What `path` says; a new account where there is none yet."""
        try:
            stored: dict[str, Any] = json.loads(path.read_text())
            if (found := stored.pop("format")) != FORMAT:
                raise ValueError(f"format {found}, not {FORMAT}")
            nested = stored.pop("counts")
            counts = {(box, reason): int(n) for box, by in nested.items() for reason, n in by.items()}
            return Account(**stored, counts=counts)
        except FileNotFoundError:
            return Account()
        except (OSError, ValueError, TypeError, AttributeError, KeyError) as error:
            raise AccountError(
                f"{path} cannot be read as the account of a run: {error}\n"
                "    next: restore it from a copy, or start a new run folder from the original input"
            ) from error
