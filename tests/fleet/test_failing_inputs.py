"""Rows and files that are odd in ways that nobody foresaw: they are refused or told of, and no input falls silent without a word."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from auroral.commands.fleet.status import _lines
from auroral.edge import rejectedrows
from auroral.edge.batches import InputError
from auroral.edge.durable import StorageFull
from auroral.edge.jsonfiles import json_batches
from auroral.edge.textfiles import ExtraColumns
from auroral.edge.textfiles import Source as Text
from auroral.node.feeds import Feed
from auroral.node.fleet.clock import Clock
from auroral.node.fleet.eventlog import EventLog, events_in
from auroral.node.fleet.inputs.feeding import Feeding
from auroral.node.fleet.inputs.taking import error_said
from auroral.node.fleet.sourceproxy import SourceProxy
from auroral.node.source import RunStopped, Source
from fleet.inputs import BUCKET, Talk, a_source, ledger, lines_of, numbers, until

HALF_A_PAIR = b'{"ts": 1, "n": 2, "name": "\\ud800"}\n'


def row(n: int) -> bytes:
    return b'{"ts": 1, "n": %d, "name": "x"}\n' % n


def test_half_a_surrogate_pair_is_refused_and_kept(tmp_path: Path) -> None:
    source = a_source(tmp_path)
    with lines_of(source) as given, Talk(given.endpoint) as talk:
        talk.hear()
        assert talk.say(HALF_A_PAIR + row(3))["left_out"] == {"refused": 1}
    assert numbers(source) == [3] and ledger(source) == {"refused": 1}
    assert source.log.rejected[0]["value"] == "\ud800"
    source.close()


def test_events_of_files_whose_names_are_no_utf8(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    log, name = EventLog(tmp_path / "events" / "s.jsonl", "s", Clock()), os.fsdecode(b"a\xff.csv")
    log.note("input", detail=name)
    log.note("input", detail="one\u2028line")
    log.close()
    assert [event["detail"] for event in events_in(tmp_path)] == [name, "one\u2028line"]


class Ends:
    """How a feed ended."""

    def __init__(self, *raised: Exception | None) -> None:
        self.raised, self.failed, self.broken = list(raised), list[Exception](), list[Exception]()
        self.stop, self.ended = threading.Event(), threading.Event()

    def run(self, stop: threading.Event, woken: Any) -> None:
        if (error := self.raised.pop(0)) is not None:
            raise error
        self.ended.set()

    def feed(self) -> Feeding:
        found = Feeding(lambda: Feed("s", self.run), self.stop, lambda: None, self.failed.append, self.broken.append)
        found.start()
        return found


@pytest.mark.parametrize("error", [InputError("it has changed"), ValueError("nobody foresaw this")])
def test_whatever_ends_a_feed_is_told(error: Exception) -> None:
    ends = Ends(error)
    ends.feed()
    found = until(lambda: ends.failed or ends.broken)
    assert found == [error] and (found is ends.failed) == isinstance(error, InputError)


def test_a_feed_that_cannot_log_goes_on_later() -> None:
    ends = Ends(StorageFull("the disk is full"), None)
    ends.feed()
    assert ends.ended.wait(20) and not ends.failed and not ends.broken


def test_of_an_input_that_has_failed_nobody_hears_that_nothing_comes(tmp_path: Path) -> None:
    class Told:
        clock = Clock()

        def tell(self, core: str, event: object) -> None:
            raise AssertionError(event)

    async def life() -> None:
        source = a_source(tmp_path)
        proxy = SourceProxy(Told(), "s@s", source, BUCKET, 7)  # type: ignore[arg-type]
        proxy.failed = "the file has changed"
        await proxy.advance(100 * BUCKET)
        assert proxy.closed == 0 and source.state.boundary == 7 * BUCKET
        source.close()

    asyncio.run(life())
    shown = {"kind": "source", "closed": 3, "silent": False, "paused": False, "ended": False, "failed": "it is gone"}
    assert _lines(shown, 9, 1.0)[0][1] == "failed"
    assert _lines(shown | {"failed": None}, 9, 1.0)[0][1] == "open"


def test_an_error_that_nobody_foresaw_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = a_source(tmp_path)

    def broken(*_: object) -> None:
        raise ZeroDivisionError("odd")

    with lines_of(source) as given:
        with monkeypatch.context() as patched, Talk(given.endpoint) as talk:
            patched.setattr(Source, "take_in", broken)
            talk.hear()
            assert talk.say(row(1)) == {"error": "odd", "retry": True}
        with Talk(given.endpoint) as talk:
            talk.hear()
            assert talk.say(row(1)) == {"rows": 1}
    source.close()


def test_only_what_is_wrong_with_the_rows_is_the_senders_fault() -> None:
    assert "retry" not in error_said(InputError("no rows"))
    assert all(error_said(e)["retry"] for e in (RunStopped("later"), StorageFull("full"), ValueError("odd")))


def test_rows_behind_others_are_not_refused_for_their_names(tmp_path: Path) -> None:
    """A field that is left out, or one that is not declared, stands in other rows of the file."""
    source = a_source(tmp_path)
    rows = [(1, row(1)), (2, b'{"ts": 1, "n": 2, "more": 5}\n')]
    (batch,) = json_batches(iter([rows]), Text("a.jsonl", source.input.schema), 1)
    assert batch.rows.column("n").to_pylist() == [2] and not batch.refused
    live = Text("a.jsonl", source.input.schema, any_names=True)
    with pytest.warns(ExtraColumns, match="more"):
        first, second = json_batches(iter([rows[1:], rows[:1]]), live, 0)
    assert [*first.rows.column("n").to_pylist(), *second.rows.column("n").to_pylist()] == [2, 1]
    with pytest.raises(InputError, match="no column 'name'"):
        next(json_batches(iter([rows[1:]]), Text("a.jsonl", source.input.schema), 0))
    source.close()


def test_of_rubbish_without_end_only_so_much_is_kept_and_all_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rejectedrows, "MOST_KEPT", 1000)
    source = a_source(tmp_path)
    with lines_of(source) as given, Talk(given.endpoint) as talk:
        talk.hear()
        for _ in range(4):
            talk.say(b"rubbish\n" * 5)
    log = source.log
    assert ledger(source) == {"refused": 20} and 3 < len(log.rejected) < 10
    assert log.rejected_path.stat().st_size == log.rejected_bytes < 1100
    assert rejectedrows.count(log.rejected_path, 0, log.rejected_bytes) == 20
    source.close()
