"""`auroral experiments dpc`: what it writes and says; without Spark where jobs of a given length do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from auroral.commands import engine_experiments
from auroral.sim.experiments.running import Costs
from cli.conftest import Call

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SESSION = "auroral.commands.experiments.session_for"


@pytest.fixture
def given_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs of a length that no engine was asked for."""
    monkeypatch.setattr(SESSION, lambda *_, **__: None)
    monkeypatch.setattr(engine_experiments, "measured_costs", lambda _: Costs(0.06, 0.0005, 1e-6))


@pytest.fixture
def no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(SESSION, refuse)


@pytest.mark.slow
@pytest.mark.usefixtures("given_costs")
def test_the_report_and_the_same_in_json(auroral: Call, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    done = auroral("experiments", "dpc", "--only", "e1", "--out", "found/here", "--json")
    assert done.code == 0, done.err
    said = json.loads(done.out)
    assert said["costs"] == {"begin": 0.06, "bucket": 0.0005, "row": 1e-6}
    assert said["machine"].keys() == {"cores", "load_before", "load_after"}
    (experiment,) = said["experiments"]
    assert (experiment["name"], len(experiment["statements"])) == ("E1", 4)

    report, *plots = (tmp_path / name for name in said["written"])
    page = report.read_text(encoding="utf-8")
    assert "60 ms each, 0.50 ms for each bucket and 1.00 us for each row" in page
    assert f"on {said['machine']['cores']} cores" in page
    for one in experiment["statements"]:
        verdict = ("yes", "") if one["holds"] else ("no", one["why"])
        assert f"| {one['published']} | {one['measured']} | {verdict[0]} | {verdict[1]} |" in page
    assert len(plots) == len(experiment["plots"]) == 1
    assert f"]({plots[0].name})" in page
    # The bound is a line of the picture, with its name.
    assert "<svg" in plots[0].read_text(encoding="utf-8") and experiment["plots"][0]["bound"]


@pytest.mark.slow
@pytest.mark.usefixtures("given_costs")
def test_without_matplotlib_the_report_has_no_plots_and_says_so(
    auroral: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("auroral.commands.experiments.can_draw", lambda: False)
    done = auroral("experiments", "dpc", "--only", "E1", "--out", "found")
    assert done.code == 0, done.err
    assert "no plots: matplotlib is not installed; next: pip install 'auroral[plots]'" in done.out
    assert "E1 A failure of one input: 3 of 4 statements hold" in done.out
    assert [path.name for path in (tmp_path / "found").iterdir()] == ["report.md"]
    assert ".svg" not in (tmp_path / "found" / "report.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("no_session")
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("dpc", "--only", "E1,E9"), "there is no E9; there are E1, E2, E3, E4, E5, E6, E7, E8"),
        (("dpc", "--only", ""), "there is no"),
        (("load",), "invalid choice: 'load'"),
        (("dpc", "--out", "taken"), "--out taken: no folder can be made there: File exists; next: name another one"),
        (("dpc", "--out", "taken/below"), "no folder can be made there: Not a directory"),
    ],
)
def test_a_wrong_use_is_said_before_spark_starts(
    auroral: Call, tmp_path: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    (tmp_path / "taken").write_text("a file")
    done = auroral("experiments", *arguments)
    assert done.code == 2
    assert complaint in done.err and "Traceback" not in done.err


@pytest.mark.spark
def test_on_the_engine(auroral: Call, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Job costs and E8, with few measurements."""
    monkeypatch.setattr(SESSION, lambda *_, **__: spark)
    few = {"WARMING": 2, "MEASURED": 1, "INTERVALS": (100, 300), "E8_SECONDS": 2.0}
    for name, value in few.items():
        monkeypatch.setattr(engine_experiments, name, value)
    done = auroral("experiments", "dpc", "--only", "E8", "--json")
    assert done.code == 0, done.err
    said = json.loads(done.out)
    assert said["costs"]["begin"] > 0 and said["written"] == []
    (e8,) = said["experiments"]
    assert [row[:2] for row in e8["rows"]] == [["100", "120 ms"], ["300", "327 ms"]]
    assert all(delay > 0 for _, delay in e8["plots"][0]["series"][1]["points"])
    (statement,) = e8["statements"]
    assert "ms a ms" in statement["measured"]
