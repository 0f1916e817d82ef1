"""What people say to a deployment and hear of it, without one that runs: names of queries, moments, and what was killed."""

from __future__ import annotations

import json
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import auroral
from auroral.commands.fleet import change
from auroral.commands.fleet.common import Outcome
from auroral.commands.fleet.watch import _shown, in_times
from auroral.model.errors import AuroralError
from auroral.node.fleet.clock import Clock
from auroral.node.fleet.deployed import Deployed, DeploymentError
from auroral.node.fleet.eventlog import EventLog, EventReader, events_in
from auroral.node.fleet.moving import called
from auroral.node.fleet.preparing import prepare
from auroral.node.fleet.processes import Fleet

SETS = """
replica_sets:
  - {name: front, queries: [clean], nodes: [":16000", ":16100"]}
  - {name: back, queries: [count, sort], nodes: [":16200", ":16300"]}
"""


@pytest.fixture
def deployed(tmp_path: Path) -> Deployed:
    d = auroral.diagram("named", bucket="500ms")
    with d.query("clean"):
        good = d.input("east", "n int").filter("good", "n > 0")
    with d.query("count"):
        good.filter("many", "n > 5").output(availability="8s")
    with d.query("sort"):
        good.filter("few", "n < 5").output(availability="8s")
    return prepare(tmp_path / "live", d.check(), SETS)


def test_a_query_may_be_called_as_in_the_diagram_or_by_its_replica_set(deployed: Deployed) -> None:
    assert [called(deployed, name) for name in ("front", "clean", "back", "count", "sort")] == [
        *("front", "front", "back", "back", "back")
    ]
    with pytest.raises(DeploymentError, match=r"no query 'east'\n    allowed: front, back, clean, count, sort"):
        called(deployed, "east")


def test_a_change_that_is_decided_while_it_is_waited_for_was_not_given_up(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each look the catalog may have gone on."""
    waits = {"changing": "front", "wanted": [], "starts": {"front": [0]}}
    holds = {"changing": None, "wanted": [], "starts": {"front": [0, 7]}}
    looks = iter([waits, holds, holds])
    monkeypatch.setattr(Fleet, "ask", lambda *_: next(looks))
    outcome = change._told(Fleet(deployed.begin(3)), "front", 1, no_wait=False)
    assert outcome.code == 0 and outcome.said["changed"] and outcome.words.startswith("front: version 1 holds from")


def test_stories_have_times() -> None:
    time = datetime.fromtimestamp(1794966521, UTC).astimezone().strftime("%H:%M:%S")
    assert in_times("UP_FAILURE since 1794966521.17 s, stable before bucket 58, 0.50 s late") == (
        f"UP_FAILURE since {time}.170, stable before bucket 58, 0.50 s late"
    )


def test_who_is_killed_is_told_of(deployed: Deployed) -> None:
    fleet = Fleet(deployed)
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as stands_in:
        born = Path(f"/proc/{stands_in.pid}/stat").read_text().rpartition(")")[2].split()[19]
        fleet.file("fronta").write_text(f'{{"pid": {stands_in.pid}, "born": "{born}", "port": 1, "secret": ""}}')
        fleet.kill("fronta")
    assert [(event["process"], event["event"]) for event in events_in(deployed.folder)] == [("fronta", "killed")]


def test_a_number_that_another_process_has_now_is_not_taken_for_ours(deployed: Deployed) -> None:
    fleet = Fleet(deployed)
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as other:
        fleet.file("fronta").write_text(f'{{"pid": {other.pid}, "born": "1", "port": 1, "secret": ""}}')
        assert not fleet.lives("fronta")
        other.kill()


def test_tail_tells_of_gaps() -> None:
    said = _shown({"at": 0.0, "bucket": 4, "end": 9, "kind": "missed", "count": 0, "rows": []})
    assert said.endswith("buckets 4 to 8 are lost, in a gap")


def test_what_happened_since_is_read_once_and_no_half_of_a_line(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    file = tmp_path / "events" / "na.jsonl"
    log, reader = EventLog(file, "na", Clock()), EventReader(tmp_path)
    log.note("one")
    assert [event["event"] for event in reader.new()] == ["one"] and reader.new() == []
    log.note("two")
    log.close()
    with file.open("ab") as written:
        written.write(b'{"at": 9e9, "process": "na", "event": "th')
        written.flush()
        assert [event["event"] for event in reader.new()] == ["two"]
        written.write(b'ree"}\nno json\n5\n{"event": "state"}\n{"at": "x", "process": "na", "event": "state"}\n')
        written.flush()
        assert [event["event"] for event in reader.new()] == ["three"]
    # As after `auroral up` into a folder that was emptied.
    file.write_bytes(b'{"at": 1, "process": "na", "event": "new"}\n')
    assert [event["event"] for event in reader.new()] == ["new"] == [event["event"] for event in events_in(tmp_path)]


def test_what_was_decided_is_told_also_where_the_next_fails(capsys: pytest.CaptureFixture[str]) -> None:
    def outcomes() -> Iterator[Outcome]:
        yield Outcome(0, "count: version 2 holds", {"query": "count", "changed": True})
        raise AuroralError("the catalog is away")

    with pytest.raises(AuroralError):
        change._all_told(outcomes(), Namespace(json=True))
    assert json.loads(capsys.readouterr().out) == {"outcomes": [{"query": "count", "changed": True}]}
