"""A run's status, put together from what it has open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from auroral.edge.ledger import Ledger
from auroral.node.account import Account
from auroral.node.source import Source
from auroral.node.status import State, Status


def status_of(
    state: State,
    account: Account,
    sources: Mapping[str, Source],
    rows_out: Mapping[str, int],
    bucket: int,
    rates: tuple[float, float],
    notes: Iterable[str],
    retries: int,
) -> Status:
    newest = [source.state.stamp.newest_stime for source in sources.values()]
    reached = max((stime for stime in newest if stime is not None), default=None)
    start, frontier = account.start, account.frontier
    return Status(
        state,
        frontier,
        {stream: source.state.rows for stream, source in sources.items()},
        account.rows_in,
        rows_out,
        0 if start is None or frontier is None else (frontier - start) // bucket,
        None if reached is None or frontier is None else max(0, reached + 1 - frontier),
        *rates,
        ledger_of(account, sources.values()),
        (*notes, *(note for source in sources.values() for note in source.notes), *nothing_taken(sources.values())),
        retries=retries,
    )


def ledger_of(account: Account, sources: Iterable[Source]) -> Ledger:
    """All rows that did not go the ordinary way, at sources and in boxes."""
    ledger = account.ledger()
    for source in sources:
        ledger = ledger.merge(source.state.ledger)
    return ledger


def nothing_taken(sources: Iterable[Source]) -> list[str]:
    """Inputs that have ended and of which every single row was left out: hardly what anybody wants."""
    return [text for source in sources if (text := source.nothing_taken()) is not None]
