"""What one sees of a run: plain lines, JSON lines, a live table."""

import io
import json
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from auroral.commands.totals import CountedRows, rows_of
from auroral.commands.watching import instant, line, watching
from auroral.edge.ledger import Ledger, Reason
from auroral.edge.pacing import InputSpec
from auroral.node.status import Doing, State, Status

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


def test_jobs_that_were_run_again_are_told() -> None:
    assert line(replace(STATUS, retries=2), 2.0).endswith("; jobs run again: 2")
    to = Terminal()
    with watching(to, as_json=False, title="run") as watch:
        watch(replace(STATUS, retries=2), last=True)
    assert "jobs run again" in to.getvalue()


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


def test_what_is_being_done_is_said() -> None:
    doing = Doing(0, 100_000_000, 100, 616, time.monotonic() - 3, first=True)
    assert line(replace(STATUS, doing=doing), 2.0).startswith(
        "   2.0 s evaluating 100 buckets with 616 rows for 3 s, slow while Spark warms up; in 1,000 rows"
    )
    for state, told in ((State.STOPPING, "stopping after 100"), (State.STARTING, "starting, evaluating again 100")):
        assert f"{told} buckets with 616 rows" in line(replace(STATUS, state=state, doing=doing), 2.0)


def test_the_inputs_that_a_run_waits_for_are_named() -> None:
    waiting = replace(STATUS, state=State.WAITING, waiting_for={"calls": 1_700_000_000_000_000, "orders": None})
    assert "waiting for input calls (at 2023-11-14 22:13:20.000Z), orders;" in line(waiting, 2.0)


@pytest.mark.parametrize(
    ("status", "told"),
    [(STATUS, "50 %"), (replace(STATUS, rows_in=5000), "99 %"), (replace(STATUS, state=State.FINISHED), "100 %")],
)
def test_a_bar_where_the_total_is_known(status: Status, told: str) -> None:
    to = Terminal()
    with watching(to, as_json=False, title="run", total=lambda: 2000) as watch:
        watch(status, last=True)
    assert told in to.getvalue() and "━" in to.getvalue()


def test_no_bar_where_it_is_not() -> None:
    to = Terminal()
    with watching(to, as_json=False, title="run") as watch:
        watch(STATUS, last=True)
    assert "━━━━ " not in to.getvalue() and " %" not in to.getvalue()


def test_a_note_is_a_line_or_an_event_of_its_own() -> None:
    plain, machine, terminal = io.StringIO(), io.StringIO(), Terminal()
    for to, as_json in ((plain, False), (machine, True), (terminal, False)):
        with watching(to, as_json=as_json, title="run") as watch:
            watch.note("stopping now")
    assert plain.getvalue() == "stopping now\n"
    assert json.loads(machine.getvalue()) == {"event": "note", "text": "stopping now"}
    assert "stopping now" in terminal.getvalue()


def test_rows_of_files_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n2\n3")
    (tmp_path / "b.jsonl").write_text('{"x": 1}\n{"x": 2}\n')
    (tmp_path / "c.parquet").mkdir()
    pq.write_table(pa.table({"x": [1, 2, 3, 4]}), tmp_path / "c.parquet" / "part.parquet")
    (tmp_path / "empty.csv").touch()
    names = ("a.csv", "b.jsonl", "c.parquet", "empty.csv")
    assert [rows_of(tmp_path / name) for name in names] == [3, 2, 4, 0]
    counted = CountedRows({name: InputSpec(name, str(tmp_path / name)) for name in names})
    for _ in range(500):
        if counted.rows() is not None:
            break
        time.sleep(0.01)
    assert counted.rows() == 9


def test_standard_input_has_no_total(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    assert CountedRows({"a": InputSpec("a", str(tmp_path / "a.csv")), "b": InputSpec("b", "-")}).rows() is None
