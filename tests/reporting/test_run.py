"""The report of a run that one process made: its lives, what it did in them, and the verdict on it."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path

import pytest

import auroral
from auroral.cli import main
from auroral.model.checking import Checked
from auroral.node.course import WHOLE, CourseWriter
from auroral.reporting.facts import facts_in
from auroral.reporting.page import page
from node.running import PassOn, rows, runner_in, verified


def checked() -> Checked:
    d = auroral.diagram("passed", bucket="1s")
    d.input("s0", "ts timestamp, v long", stime="ts").filter("out", "v >= 0").output()
    return d.check()


def refuse(lo: int, hi: int) -> None:
    raise ValueError("no such <row>\nmore")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Stopped, failed, killed, and then brought to its end."""
    place = tmp_path / "run"
    for engine, given in ((PassOn(), (0.5, 3.5)), (PassOn(before=refuse), (7.5,))):
        runner = runner_in(place, checked(), engine)
        runner.sources["s0"].take(rows(*given), 0)
        runner.request_stop()
        with suppress(ValueError):
            runner.run()
    CourseWriter(place).begin(WHOLE, time.time())
    runner = runner_in(place, checked(), PassOn())
    runner.sources["s0"].end()
    runner.run()
    return place


def test_each_life_is_told(folder: Path) -> None:
    facts = facts_in(folder)
    assert [spell.said.get("state") for spell in facts.lives.spells] == ["stopped", "failed", None, "finished"]
    assert facts.lives.spells[1].said["failed"] == "ValueError: no such <row>"
    total = facts.lives.total().counts
    assert (total["in"], total["out out"], total["jobs"] > 0) == (3, 3, True)
    assert facts.finished and not facts.deployed and facts.inputs["s0"] == ("", 3, True)
    text = page(facts)
    for words in ("was killed: it said nothing of its end", "no such &lt;row&gt;", "How it ran", "finished"):
        assert words in text


def test_the_verdict_is_that_of_verify(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("auroral.commands.report.session_for", lambda *_, **__: None)
    monkeypatch.setattr("auroral.app.verify", lambda at, _: verified(Path(at)))
    out = str(tmp_path / "r.html")
    assert main(["report", str(folder), "--out", out]) == 0
    assert "times begun: 4; verified: the output equals one batch run" in capsys.readouterr().out
    assert "Proved:" in Path(out).read_text() and "output out: equal; 3 rows" in Path(out).read_text()

    def damaged(*_: object) -> None:
        raise auroral.AuroralError("the log is damaged\n    next: restore it")

    monkeypatch.setattr("auroral.app.verify", damaged)
    assert main(["report", str(folder), "--out", out]) == 1
    assert "NOT verified: the log is damaged\n    next: restore it" in capsys.readouterr().out
    assert main(["report", str(folder), "--out", out, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["verified"]["ok"] is False
    assert "NOT verified: the log is damaged" in Path(out).read_text()
