"""Linear Road as an application: equal to the batch run, to the rules, and both through failures."""

from __future__ import annotations

import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from examples.linear_road.generator import Traffic, traffic

import auroral
from applications.roads import FEW, FILE, PUBLISHED, SMALL, counted, small_diagram, told
from auroral.commands.diagrams import load_one
from auroral.sim import under_failures
from docs.blocks import ROOT, blocks_of, run_commands

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def test_the_figures_are_those_of_the_benchmark() -> None:
    expressions = [str(box) for box in load_one(str(FILE), ()).diagram.boxes if box.name == "priced"]
    assert "cars > 50 and lav < 40.0 then 2 * (cars - 50) * (cars - 50)" in "".join(expressions)
    assert {one.availability for one in load_one(str(FILE), ()).diagram.outputs} == {5_000_000}


def test_the_roads_have_all_that_the_rules_speak_of() -> None:
    """Otherwise the comparisons below would show little."""
    for given, rules in ((Traffic(), PUBLISHED), (FEW, SMALL)):
        found = told(given, rules)
        paid = [one for one in found["tolls"] if one[-1] > 0]
        assert len(paid) > 10 and len(paid) < found["tolls"].total()
        assert {xway for _, _, xway, *_ in found["alerts"]} == {0, 1}
        assert any(balance > 0 for *_, balance in found["balances"])
    assert traffic(FEW) == traffic(FEW) and traffic(FEW) != traffic(Traffic(seed=2))


def test_cars_report_in_time_enter_exit_and_come_back() -> None:
    by_car: dict[int, list[dict[str, Any]]] = {}
    for row in traffic(Traffic())["north"]:
        by_car.setdefault(row["vid"], []).append(row)
    gaps = Counter(b["ts"] - a["ts"] for rows in by_car.values() for a, b in pairwise(rows))
    assert set(gaps) == {timedelta(seconds=30), timedelta(seconds=150)}
    assert all(row["seg"] == row["pos"] // 5280 for rows in by_car.values() for row in rows)
    assert {row["lane"] for rows in by_car.values() for row in rows} == {0, 1, 2, 3, 4}


@pytest.mark.slow
@pytest.mark.parametrize(
    "failures",
    [
        "at 12s silence south; at 25s resume south",
        "at 9s crash na; at 15s silence north; at 24s resume north; at 26s restart na",
    ],
)
def test_through_failures_drivers_are_answered_and_in_the_end_all_is_by_the_rules(failures: str) -> None:
    tried = under_failures(small_diagram(), traffic(FEW), failures)
    assert tried.ok, tried.violations
    given = {answer.stream for answer in tried.tentative if answer.rows}
    assert "tolls" in given, "nobody was answered while the road was silent"
    for stream, wanted in told(FEW, SMALL).items():
        assert counted(map(_timed, tried.rows(stream))) == wanted


@pytest.mark.spark
@pytest.mark.usefixtures("interpreted", "commands_share_spark")
def test_what_the_page_runs_is_proved_and_by_the_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of docs/examples.md: the generator's cars, by the published figures; a run that `verify` proves."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (block,) = (block for block in blocks_of(ROOT / "docs" / "examples.md") if block.tested)
    run_commands(block)
    streams = auroral.check(load_one(str(FILE), ()).diagram).streams
    for stream, wanted in told(Traffic(), PUBLISHED).items():
        fields = f"stime timestamp, {streams[stream].schema}"
        assert counted(auroral.read_rows(f"{stream}.csv", fields)) == wanted


def _timed(row: dict[str, Any]) -> dict[str, Any]:
    """Simulations have timestamps as microseconds."""
    return {name: EPOCH + timedelta(microseconds=value) if name == "ts" else value for name, value in row.items()}
