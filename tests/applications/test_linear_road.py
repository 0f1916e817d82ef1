"""Linear Road as an application: equal to the batch run, to the rules, and both through failures."""

from __future__ import annotations

import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from examples.linear_road.generator import Traffic, traffic, write

from applications.roads import FEW, FILE, PUBLISHED, SMALL, counted, small_diagram, told
from auroral.cli import main
from auroral.commands.diagrams import load_one
from auroral.sim import under_failures

OUTPUTS = ("tolls", "alerts", "balances")
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
def test_the_published_figures_on_spark_are_proved_and_by_the_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    write(Traffic(), tmp_path)
    inputs = [f"--input={name}={tmp_path / name}.csv" for name in ("north", "south", "requests")]
    outputs = [f"--output={name}={tmp_path / name}.parquet" for name in OUTPUTS]
    assert main(["run", str(FILE), *inputs, *outputs, "--folder", str(tmp_path / "run")]) == 0
    assert main(["verify", str(tmp_path / "run")]) == 0, capsys.readouterr().out
    for stream, wanted in told(Traffic(), PUBLISHED).items():
        assert counted(pq.read_table(tmp_path / f"{stream}.parquet").to_pylist()) == wanted


def _timed(row: dict[str, Any]) -> dict[str, Any]:
    """Simulations have timestamps as microseconds."""
    return {name: EPOCH + timedelta(microseconds=value) if name == "ts" else value for name, value in row.items()}
