"""The states of folds in a core's store: records of what changed, behind one of all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from auroral.dpc.values import Content
from auroral.engine.foldstates import ROWS, FoldStates, NotFoldStates, states_from
from auroral.node.statedeltas import WHOLE, Behind, to_write
from auroral.node.store.records import DamagedStore, Key

_OLDER = ["edge", "rows"]
"""The columns of a state as earlier versions wrote it."""


@dataclass(frozen=True, slots=True)
class Written:
    """A state that is on disk."""

    key: Key
    states: FoldStates
    behind: Behind = WHOLE


@dataclass(slots=True)
class StateRecords:
    """Decides how states are written. `last` is by stream; `rows` are those of the states that were decided on."""

    last: dict[str, Written] = field(default_factory=dict)
    rows: dict[Key, pa.Table] = field(default_factory=dict)

    def fork(self) -> StateRecords:
        """For a list of effects, which may fail: then what was decided on is as if it had never been."""
        return StateRecords(dict(self.last))

    def base(self, stream: str, key: Key, content: Content | None) -> Key | None:
        """The state that this one is written as the changes of; None for all of it, also of what is not a value of ours."""
        if content is None or not isinstance(content.rows, FoldStates):
            self.last.pop(stream, None)
            return None
        last = self.last.get(stream)
        rows, behind = to_write(content.rows, last.states if last else None, last.behind if last else WHOLE)
        self.rows[key] = rows
        self.last[stream] = Written(key, content.rows, behind)
        return last.key if last is not None and behind != WHOLE else None


def read_states(stream: str, chain: Sequence[tuple[Key, Content]], folder: Path) -> Content:
    """The state that the first of these has, which is the changes of the second, and so on to one that is all of it."""
    content = chain[0][1]
    if not isinstance(content.rows, pa.Table) or content.rows.column_names not in ([*ROWS.names], _OLDER):
        return content
    try:
        states = states_from(chain[-1][1].rows)
        for _, changes in reversed(chain[:-1]):
            states = states.with_rows(changes.rows)
    except NotFoldStates as error:
        raise DamagedStore(
            folder,
            f"the state of {stream}: {error}",
            "states that this version of auroral wrote",
            "go on with the version that wrote it, or throw the core's folder away: it begins anew",
        ) from error
    if states.digest >> _SHORTENED != content.hash:
        raise DamagedStore(
            folder,
            f"the state of {stream} before bucket {chain[0][0][1]} is not the one that was written",
            "files that nobody else writes to, on a disk that is in order",
            "check the disk, then throw the core's folder away: it begins anew",
        )
    return replace(content, rows=states)


_SHORTENED = 128 - 62
"""Bits of a digest that the protocol's hashes do not have, see `fleet.contents`."""
