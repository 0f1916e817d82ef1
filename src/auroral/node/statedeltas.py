"""What is to be written of the states of folds: what changed since they were last written, or all of it from time to time."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from auroral.engine.foldstates import FoldStates

MOST_DELTAS = 64
"""Behind a whole one: so many more are read at most."""


@dataclass(frozen=True, slots=True)
class Behind:
    """How many deltas lie behind the last whole state, and how many keys these have changed together."""

    deltas: int = 0
    changed: int = 0


WHOLE = Behind()


def to_write(states: FoldStates, earlier: FoldStates | None, behind: Behind) -> tuple[pa.Table, Behind]:
    """Rows of the states, and what is behind the last whole one with them; `WHOLE` where they are all of it.

    `earlier`, with so much behind it, is what was written last. What is read to have a state is never more than twice the state.
    """
    rows = states.rows_since(earlier) if earlier is not None and behind.deltas < MOST_DELTAS else None
    if rows is None or behind.changed + rows.num_rows > states.count:
        return states.rows(), WHOLE
    return rows, Behind(behind.deltas + 1, behind.changed + rows.num_rows)
