"""Rows that somebody sends: they are logged, and what became of them is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from auroral.edge.batches import Batch, InputError
from auroral.edge.stamping import StampError
from auroral.node.source import RunStopped, Source, Taken

Clock = Callable[[], int]


def take(source: Source, batch: Batch, clock: Clock) -> Taken:
    return source.take_in(batch.rows, clock(), batch.refused)


def so_far(source: Source) -> dict[str, Any]:
    """So many rows of the input are logged; and how many of them were left out in all, if any were."""
    state = source.state
    left_out = {row.reason.value: row.count for row in state.ledger.rows() if not row.reason.keeps_row}
    return {"rows": state.rows_read, **({"left_out_in_all": left_out} if left_out else {})}


def said_of(taken: Taken, batch: Batch) -> dict[str, Any]:
    """So many rows of the input are logged; and of these rows, if any were left out, why, with the first that could not be read."""
    said: dict[str, Any] = {"rows": taken.rows_read}
    if taken.left_out:
        said["left_out"] = {reason.value: count for reason, count in taken.left_out.items()}
    if batch.refused:
        said["first"] = str(batch.refused[0])
    return said


def passes(error: Exception) -> bool:
    """Whether the same rows may well be taken a little later: it is no fault of theirs."""
    return isinstance(error, RunStopped) or not isinstance(error, InputError | StampError)


def error_said(error: Exception) -> dict[str, Any]:
    return {"error": str(error), "retry": True} if passes(error) else {"error": str(error)}
