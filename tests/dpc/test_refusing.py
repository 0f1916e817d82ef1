"""What cannot be is refused; what is just possible is taken (M9)."""

from __future__ import annotations

import pytest

from auroral.dpc.coverage import NOTHING
from auroral.dpc.port import Port
from auroral.dpc.refusing import FARTHEST, refusals, strangers
from auroral.dpc.settings import Settings
from auroral.dpc.switching import Lane
from auroral.dpc.values import (
    LOST,
    Ack,
    Confirm,
    Gap,
    GiveState,
    Message,
    Ping,
    Pong,
    Snapshot,
    Stable,
    Subscribe,
    Tentative,
    Unsubscribe,
    Want,
    WantState,
)

NOWHERE, SOMEWHERE = Snapshot(0, None), 3


def refused(message: Message, resuming: bool = False) -> bool:
    port = Port("s", ("a",), Settings(bucket=0.5, bound=3.0), resuming=resuming, frontier=SOMEWHERE)
    return bool(list(refusals("x", message, ("o",), {"s": port})))


@pytest.mark.parametrize(
    ("taken", "not_taken"),
    [
        (Subscribe("o", 1, Lane.BOTH, 0, False), Subscribe("o", 1, Lane.BOTH, -1, False)),
        (Subscribe("o", 1, Lane.BOTH, None, False), Subscribe("s", 1, Lane.BOTH, None, False)),
        (Unsubscribe("o", 1), Unsubscribe("s", 1)),
        (Want("o", 1, 0), Want("o", 1, -1)),
        (WantState("o"), WantState("s")),
        (GiveState("o", NOWHERE), GiveState("s", NOWHERE)),
        (Stable("s", 1, 0, ()), Stable("o", 1, 0, ())),
        (Stable("s", 1, SOMEWHERE + FARTHEST, ()), Stable("s", 1, SOMEWHERE + FARTHEST + 1, ())),
        (Confirm("s", 1, 0, ()), Confirm("s", 1, -1, ())),
        (Tentative("s", 1, 0, LOST, True, 0.0, NOTHING), Tentative("s", 1, -1, LOST, True, 0.0, NOTHING)),
        (Gap("s", 1, 3, 3), Gap("s", 1, 3, 2)),
        (Gap("s", 1, 3, 3 + FARTHEST), Gap("s", 1, 3, 4 + FARTHEST)),
        (Gap("s", 1, 0, 2), Gap("s", 1, -1, 2)),
    ],
)
def test_where_the_line_is(taken: Message, not_taken: Message):
    assert (refused(taken), refused(not_taken)) == (False, True)


def test_who_does_not_know_where_it_begins_believes_any_bucket():
    assert not refused(Stable("s", 1, 10 * FARTHEST, ()), resuming=True)
    assert refused(Stable("s", 1, -1, ()), resuming=True)
    assert FARTHEST == 1_000_000


def test_strangers_in_a_heartbeat_are_named_one_by_one():
    ping = Ping({"p": Ack(0, 0.0), "o": Ack(0, 0.0)}, {"r": 1, "q": 1, "o": 1})
    assert [report.stream for report in strangers("x", ping, ("o",))] == ["p", "q", "r"]
    assert [report.stream for report in strangers("x", Pong({}, {"z": 1, "o": 2}), ("o",))] == ["z"]
