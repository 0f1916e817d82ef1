"""From where on the rows of a run are told to a query. No Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from auroral.adhoc.feeds import RunFeed
from auroral.client import Event, Stable
from auroral.node.outputlog import LetGo
from auroral.node.runfolder import RunFolder
from node.keeping import BUCKETS, EACH, ROWS, B, Writing, rows


def numbers(events: list[Event]) -> list[int]:
    return [n for event in events if isinstance(event, Stable) for n in event.rows.column("n").to_pylist()]


def test_a_connection_point_is_asked_for_what_it_keeps_when_all_is_ready(tmp_path: Path) -> None:
    """Spark is started between: a connection point may have let go by then of all that it had."""
    writing = Writing(tmp_path / "run")
    writing.live(BUCKETS // 2)
    late, feed = (RunFeed(RunFolder.look(tmp_path / "run"), "rows", None, follow=False) for _ in range(2))
    writing.live(BUCKETS)
    with pytest.raises(LetGo):
        list(late)
    feed.start()
    told = numbers(list(feed))
    assert len(told) >= ROWS and told == list(range(told[0], BUCKETS * EACH))
    # Whoever wants what was let go is told so.
    with pytest.raises(LetGo):
        list(RunFeed(RunFolder.look(tmp_path / "run"), "rows", 0, follow=False))


def test_before_the_first_bucket_there_is_nothing_to_go_through(tmp_path: Path) -> None:
    writing = Writing(tmp_path / "run")
    first = 1_700_000_000
    writing.other.append(first * B, (first + 1) * B, rows(first))
    for since in (None, 0):
        (event,) = RunFeed(RunFolder.look(tmp_path / "run"), "g", since, follow=False)
        assert (event.lo, event.hi) == (first * B, (first + 1) * B)
