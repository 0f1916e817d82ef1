"""`auroral simulate contracts` and `auroral experiments contracts`: what they say, exit codes, and all that can be wrong with them."""

from __future__ import annotations

import io
import json
import sys

import pytest

from auroral.cli import main
from auroral.workload.books import Books

pytestmark = pytest.mark.slow


def test_the_summary_as_json(capsys):
    assert main(["simulate", "contracts", "--seeds", "0..1", "--processes", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["seeds"], found["violations"], found["failures"]) == (2, 0, [])
    assert found["movements"] and found["faults"] and found["tasks_moved"] >= found["movements"]


def test_a_schedule_of_ones_own_and_a_trace(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "stdin", io.StringIO("at 3s crash p0; at 5s restart p0"))
    trace = tmp_path / "trace.txt"
    assert main(["simulate", "contracts", "--seeds", "2", "--schedule", "-", "--trace", str(trace)]) == 0
    said = trace.read_text()
    assert "FAULT  crash p0" in said and "offers" in said
    assert "movements" in capsys.readouterr().out


def test_what_fails_is_shortened_and_can_be_replayed(capsys, monkeypatch):
    """Books that forget what is borrowed when they are opened again let a task run twice, or the money be lost."""
    whole = Books.restarted

    def forgets(self, now):
        whole(self, now)
        self.borrowed.clear()

    monkeypatch.setattr(Books, "restarted", forgets)
    monkeypatch.setattr(
        sys, "stdin", io.StringIO("; ".join(f"at {t}s crash p0; at {t}.2s restart p0" for t in (15, 18, 21, 24, 27)))
    )
    code = main(["simulate", "contracts", "--seeds", "0..3", "--processes", "1", "--schedule", "-"])
    said = capsys.readouterr().out
    assert code == 1 and "shortest that still fails: at" in said and "auroral simulate contracts --seeds" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--diagram", "x.xml"], "--diagram is about a diagram, and there is none in a market"),
        (["--bound", "5s"], "--bound is about a diagram"),
        (["--schedule", "-"], "cannot happen in a market"),
    ],
)
def test_what_is_not_about_a_market(capsys, monkeypatch, arguments, words):
    monkeypatch.setattr(sys, "stdin", io.StringIO("at 3s silence p0"))
    assert main(["simulate", "contracts", "--seeds", "0", *arguments]) != 0
    assert words in capsys.readouterr().err


def test_experiments_on_contracts(capsys, tmp_path):
    assert main(["experiments", "contracts", "--only", "c6", "--out", str(tmp_path / "here"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (one,) = found["experiments"]
    assert one["name"] == "C6" and all(statement["holds"] for statement in one["statements"])
    page = (tmp_path / "here" / "report.md").read_text()
    assert page.startswith("# Experiments on contracts") and "## C6." in page


@pytest.mark.parametrize(
    ("protocol", "only", "words"),
    [("contracts", "E1", "E1 is not about contracts"), ("dpc", "C6", "C6 is not about dpc")],
)
def test_experiments_of_the_other(capsys, protocol, only, words):
    assert main(["experiments", protocol, "--only", only]) == 2
    assert words in capsys.readouterr().err
