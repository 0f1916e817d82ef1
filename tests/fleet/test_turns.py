"""Who asked whom to be let correct, as events."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from auroral.dpc.events import Disconnected, Received, Send
from auroral.dpc.values import Ask, Grant, Refuse, Release
from auroral.node.fleet.clock import Clock
from auroral.node.fleet.eventlog import EventLog, events_in
from auroral.node.fleet.turns import Turns


def test_who_asks_again_and_again_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    with closing(EventLog(tmp_path / "events" / "na.jsonl", "na", Clock())) as log:
        turns = Turns(log)
        for n in range(3):
            turns.saw("q@na", Send("q@nb", Ask(n, 5.0)))
            turns.saw("q@na", Send("q@nc", Refuse(n)))
        turns.saw("q@na", Send("q@nb", Release()))
        turns.saw("q@na", Send("q@nb", Ask(4, 5.0)))
        turns.saw("q@na", Send("q@nc", Grant(4)))
    found = [(one["event"], one["peer"]) for one in events_in(tmp_path)]
    assert found == [
        *(("asks", "q@nb"), ("refuses", "q@nc")),
        *(("gives back", "q@nb"), ("asks", "q@nb"), ("grants", "q@nc")),
    ]


def test_each_turn_that_is_granted_is_told_and_no_longer_one(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    with closing(EventLog(tmp_path / "events" / "nb.jsonl", "nb", Clock())) as log:
        turns = Turns(log)
        for over in (Received("q@na", Release()), Disconnected("q@na")):
            # It asks for a longer one, and gives it back; or it crashes.
            for n in range(3):
                turns.heard("q@nb", Received("q@na", Ask(n, 5.0)), ())
                turns.saw("q@nb", Send("q@na", Grant(n)))
            turns.heard("q@nb", over, ())
        turns.saw("q@nb", Send("q@na", Grant(9)))
    assert [(one["event"], one["peer"]) for one in events_in(tmp_path)] == [("grants", "q@na")] * 3
