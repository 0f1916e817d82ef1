"""What one sees of a run: plain lines, JSON lines, a live table."""

import io
import json

from auroral.commands.watching import instant, line, watching
from auroral.edge.ledger import Ledger, Reason
from auroral.node.status import State, Status

STATUS = Status(
    State.EVALUATING,
    1_700_000_000_000_000,
    {"calls": 1200},
    1000,
    {"alerts": 3},
    20,
    1_500_000,
    250.0,
    0.5,
    Ledger().add("calls", Reason.MOVED, 2),
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_plain_line() -> None:
    assert line(STATUS, 2.0) == (
        "   2.0 s evaluating; in 1,000 rows (250/s); out alerts 3; frontier 2023-11-14 22:13:20.000Z; "
        "lag 1.5 s; ledger: calls: 2 moved"
    )


def test_times_that_are_no_dates() -> None:
    assert instant(None) == "-"
    assert instant(2**62) == f"{2**62} us"


def test_json_lines_hold_everything() -> None:
    to = io.StringIO()
    with watching(to, as_json=True, title="run") as watch:
        watch(STATUS)
        watch(STATUS, last=True)
    (only,) = to.getvalue().splitlines()
    found = json.loads(only)
    assert (found["event"], found["state"], found["lag"]) == ("progress", "evaluating", 1_500_000)
    assert found["ledger"] == [{"stream": "calls", "reason": "moved", "count": 2}]


def test_a_table_on_a_terminal() -> None:
    to = Terminal()
    with watching(to, as_json=False, title="run of watch", extra=lambda: ["alert: x"]) as watch:
        watch(STATUS, last=True)
    shown = to.getvalue()
    for text in ("run of watch", "1,200 rows logged", "output alerts", "alert: x", "calls: 2 moved"):
        assert text in shown
