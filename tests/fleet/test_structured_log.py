"""Logs for machines: each record a line of JSON with whom it is about; events among them."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

from auroral.node.fleet.clock import Clock
from auroral.node.fleet.deployed import Deployed, agreed_in
from auroral.node.fleet.eventlog import EventLog, events_in
from auroral.node.fleet.preparing import prepare
from auroral.node.fleet.structuredlog import EVENTS, JsonLines, log_of
from fleet.deployments import watch

PROGRAM = """
import logging, sys, warnings
from pathlib import Path
from auroral.node.fleet.structuredlog import begin_logging
from auroral.node.fleet.clock import Clock
from auroral.node.fleet.eventlog import EventLog

folder, form = Path(sys.argv[1]), sys.argv[2]
begin_logging(folder, "na", form)
log = logging.getLogger("auroral.node.fleet.host")
log.warning("job %d of %s failed", 3, "q@na", extra={"core": "q@na", "stream": "sums", "bucket": 17})
try:
    1 / 0
except ZeroDivisionError:
    log.exception("two\\nlines")
warnings.warn("old")
(folder / "logs" / "na.jsonl").exists() and (folder / "logs" / "na.jsonl").rename(folder / "logs" / "na.jsonl.1")
events = EventLog(folder / "events" / "na.jsonl", "na", Clock())
events.note("state", core="q@na", stream="sums", frontier=17, state="STABLE", was="", name="n", process="x")
events.close()
"""


def said(folder: Path, form: str) -> tuple[list[dict[str, Any]], str]:
    for name in ("logs", "events"):
        (folder / name).mkdir()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, folder, form], capture_output=True, text=True, check=True, timeout=60
    )
    file = log_of(folder, "na")
    text = "".join(one.read_text() for one in (file.with_name(f"{file.name}.1"), file) if one.exists())
    return [json.loads(line) for line in text.splitlines()], done.stderr


def test_lines_of_json_say_whom_they_are_about(tmp_path: Path) -> None:
    lines, text = said(tmp_path, "json")
    failed, raised, warned, noted = lines
    assert failed.pop("time").endswith("+00:00")
    assert failed == {
        "level": "WARNING",
        "process": "na",
        "logger": "auroral.node.fleet.host",
        "message": "job 3 of q@na failed",
        "core": "q@na",
        "stream": "sums",
        "bucket": 17,
    }
    assert raised["level"] == "ERROR" and raised["message"] == "two\nlines" and "ZeroDivisionError" in raised["error"]
    assert warned["logger"] == "py.warnings"
    assert noted["logger"] == EVENTS and noted["message"] == noted["event"] == "state"
    assert (noted["core"], noted["stream"], noted["bucket"], noted["state"]) == ("q@na", "sums", 17, "STABLE")
    assert (noted["process"], noted["name_"], noted["process_"]) == ("na", "n", "x") and "was" not in noted
    assert "job 3 of q@na failed" in text, "people read it as before"
    assert len(log_of(tmp_path, "na").read_text().splitlines()) == 1, "one that is moved away is begun anew"
    assert [event["event"] for event in events_in(tmp_path)] == ["state"]


def test_as_text_nothing_else_is_written_and_events_are_not_said_twice(tmp_path: Path) -> None:
    lines, text = said(tmp_path, "text")
    assert lines == [] and "job 3 of q@na failed" in text and "state" not in text


def test_whatever_is_said_can_be_written() -> None:
    record = logging.makeLogRecord({"msg": "a \udcff name", "args": (), "thing": {1, 2}, "levelname": "INFO"})
    assert json.loads(JsonLines("na").format(record))["thing"] == "{1, 2}"


def test_it_is_agreed_on_in_the_folder(tmp_path: Path) -> None:
    deployed: Deployed = prepare(tmp_path / "live", watch().check())
    assert (deployed.agreed.logs, deployed.agreed.traces) == ("text", "")
    deployed.agree_on(logs="json").agree_on(traces="http://127.0.0.1:4318").agree_on(metrics="127.0.0.1:9464")
    found = agreed_in(deployed.folder)
    assert (found.logs, found.traces, found.metrics) == ("json", "http://127.0.0.1:4318", "127.0.0.1:9464")


def test_a_program_of_its_own_does_not_hear_of_events(tmp_path: Path, caplog: Any) -> None:
    events = EventLog(tmp_path / "x.jsonl", "x", Clock())
    events.note("failed", detail="why")
    events.close()
    assert caplog.records == []
