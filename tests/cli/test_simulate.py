"""`auroral simulate dpc`: what it says, its exit codes, traces, and a failing seed that is replayed."""

from __future__ import annotations

import io
import json
import shlex
import sys
from dataclasses import replace

import pytest

from auroral.cli import main
from auroral.commands import simulate as command
from auroral.dpc.sunion import SUnion
from auroral.sim.randomly import random_scenario
from auroral.sim.scenario import Scenario

pytestmark = pytest.mark.slow

KEYS = {"seeds", "events", "faults", "violations", "worst_delay_ratio", "tentative_rows", "mean_reconciliation_s"}


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same scenarios, forty seconds long, with the failures of that time."""

    def shortened(seed: int) -> Scenario:
        scenario = random_scenario(seed)
        return replace(scenario, seconds=40.0, faults=tuple(fault for fault in scenario.faults if fault.at < 12))

    monkeypatch.setattr(command, "random_scenario", shortened)


def given(monkeypatch: pytest.MonkeyPatch, schedule: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(schedule))


def test_the_summary_as_json(capsys, monkeypatch):
    given(monkeypatch, "at 5s silence s0; at 8s resume s0")
    assert main(["simulate", "dpc", "--seeds", "1..2", "--processes", "1", "--schedule", "-", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found.keys() >= KEYS
    assert (found["seeds"], found["faults"], found["violations"], found["failures"]) == (2, 2, 0, [])
    assert found["events"] > 10_000 and 0 < found["worst_delay_ratio"] < 1


@pytest.mark.parametrize("schedule", ["at 8s silence s0", "at 8s cut q0a", "at 8s crash q1a-q1b; at 10s restart q1a"])
def test_a_failure_that_never_ends_is_no_violation(capsys, monkeypatch, schedule):
    """D78 presumes that all heals: what cannot be corrected is not asked for, and that is said."""
    given(monkeypatch, schedule)
    assert main(["simulate", "dpc", "--seeds", "1..2", "--processes", "1", "--schedule", "-"]) == 0
    said = schedule.replace("-q1b; at 10s restart q1a", "").replace("crash q1a", "crash q1b")
    assert f"note: {said}: never over" in capsys.readouterr().out


def test_the_summary_for_people_and_progress_beside_it(capsys, monkeypatch):
    given(monkeypatch, "")
    assert main(["simulate", "dpc", "--seeds", "3", "--schedule", "-"]) == 0
    said = capsys.readouterr()
    assert "violations" in said.out and "seeds_per_minute" in said.out
    assert said.err == "1 of 1 seeds, 0 violations\n"


def test_a_failing_seed_shows_the_shortest_schedule_and_how_to_replay_it(capsys, monkeypatch):
    monkeypatch.setattr(SUnion, "tentative_range", lambda *_: None)
    given(monkeypatch, "at 4s reset s0-q0a; at 5s silence s1; at 25s resume s1")
    assert main(["simulate", "dpc", "--seeds", "10", "--schedule", "-", "--json"]) == 1
    (failure,) = json.loads(capsys.readouterr().out)["failures"]
    assert failure["shortest"] == "at 5s silence s1; at 25s resume s1"
    assert any(violation.startswith("within_the_bound") for violation in failure["violations"])
    echo, schedule, pipe, *replayed = shlex.split(failure["replay"])
    assert (echo, pipe, replayed[0]) == ("echo", "|", "auroral")
    given(monkeypatch, schedule)
    assert main(replayed[1:]) == 1
    said = capsys.readouterr().out
    assert "shortest that still fails: at 5s silence s1; at 25s resume s1" in said


def test_a_trace_can_be_read(tmp_path, capsys, monkeypatch):
    given(monkeypatch, "at 5s silence s1; at 11s resume s1")
    trace = tmp_path / "trace.txt"
    assert main(["simulate", "dpc", "--seeds", "10", "--schedule", "-", "--trace", str(trace)]) == 0
    lines = trace.read_text().splitlines()
    assert lines[0] == "# seed 10; at 5s silence s1; at 11s resume s1"
    assert "   5.000 s  FAULT    silence s1" in lines
    assert any("client" in line and "tentative, " in line for line in lines)
    assert any("is UP_FAILURE" in line for line in lines)


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--seeds", "5..3"], 2, "'5..3' is no range of seeds; write for example 0..299 or 17"),
        (["--seeds", "1..2", "--trace", "t"], 2, "--trace is of one run, and there are 2 seeds"),
        (["--processes", "0"], 2, "--processes is 0"),
        (["--seeds", "1", "--schedule", "nowhere.txt"], 1, "nowhere.txt cannot be read: No such file"),
    ],
)
def test_wrong_use_is_told(arguments, code, told, capsys):
    assert main(["simulate", "dpc", *arguments]) == code
    assert told in capsys.readouterr().err


def test_a_schedule_for_hosts_that_there_are_not(capsys, monkeypatch):
    given(monkeypatch, "at 3s cut q9z")
    assert main(["simulate", "dpc", "--seeds", "1", "--schedule", "-"]) == 1
    assert "there is no q9z; there are c, q0a" in capsys.readouterr().err


def test_a_schedule_that_asks_for_the_impossible_is_the_users_mistake_and_no_violation(capsys, monkeypatch):
    given(monkeypatch, "at 4s silence q0a")
    assert main(["simulate", "dpc", "--seeds", "10", "--schedule", "-"]) == 1
    said = capsys.readouterr()
    assert "q0a" in said.err and "violations" not in said.out + said.err
