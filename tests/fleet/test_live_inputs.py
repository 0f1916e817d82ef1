"""A deployment whose inputs come in every live way: each source is killed while rows come, and the output is right in the end."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import auroral
from auroral.cli import main
from auroral.client import Sender
from auroral.edge.intake import parse_intake
from auroral.edge.sourcelog import SourceLog
from auroral.edge.stamping import SEQ
from auroral.model.builder import DiagramBuilder
from auroral.model.deployment import Endpoint
from auroral.node.fleet.deployed import DeploymentError
from auroral.node.fleet.eventlog import events_in
from auroral.node.fleet.preparing import prepare
from auroral.node.fleet.processes import Fleet
from auroral.node.runfolder import RunFolder
from auroral.node.verify import verify_folder

pytestmark = [pytest.mark.spark, pytest.mark.slow]
PATIENT = 120.0
"""Seconds that anything is waited for, on a machine that has other things to do."""
WAYS = ("lines", "commas", "posted", "files", "grows", "piped")


def watch() -> DiagramBuilder:
    d = auroral.diagram("ways", bucket="1s")
    given = [d.input(name, "at timestamp, n long", stime="at", idle_after="1s") for name in WAYS]
    both = given[0].union("all", *given[1:])
    both.aggregate("sums", {"rows": "count()", "total": "sum(n)"}, window="2s", advance="1s").output(availability="10s")
    return d


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Fleet]:
    (tmp_path / "come").mkdir()
    how = {
        "commas": "tcp+csv:",
        "posted": "http:",
        "files": f"{tmp_path / 'come'}/",
        "grows": f"tail:{tmp_path / 'rows.jsonl'}",
        "piped": "-",
    }
    fleet = Fleet(prepare(tmp_path / "live", watch().check(), replicas=1, inputs=how))
    try:
        yield fleet.up(lambda _: None)
    finally:
        fleet.down(lambda _: None)


def until(what: str, found: Callable[[], Any]) -> Any:
    end = time.monotonic() + PATIENT
    while not (it := found()):
        assert time.monotonic() < end, f"it did not come to that: {what}"
        time.sleep(0.1)
    return it


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Sending:
    """One row after the other in each way, numbered from 0, until it is ended. None is sent twice on purpose, and none left out."""

    def __init__(self, fleet: Fleet, folder: Path):
        self.fleet, self.folder, self.stop = fleet, folder, threading.Event()
        self.sent = dict.fromkeys(WAYS, 0)
        self.failures: list[BaseException] = []
        self._threads = [threading.Thread(target=self._run, args=(name,), daemon=True) for name in WAYS]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self.stop.set()
        for thread in self._threads:
            thread.join(PATIENT)
        assert not self.failures, self.failures

    def _run(self, name: str) -> None:
        try:
            getattr(self, f"_{name}")()
        except BaseException as error:  # noqa: BLE001  it is raised where they are closed
            self.failures.append(error)

    def _at(self, name: str) -> Endpoint:
        return parse_intake(name, self.fleet.deployed.agreed.inputs[name]).endpoint

    def _lines(self) -> None:
        with Sender(str(self._at("lines")), patience=PATIENT) as sender:
            while not self.stop.wait(0.05):
                first = self.sent["lines"]
                self.sent["lines"] = sender.send([{"at": now(), "n": first + i} for i in range(3)])

    def _commas(self) -> None:
        at = self._at("commas")
        while not self.stop.is_set():
            try:
                with socket.create_connection((at.host, at.port), 10) as connection, connection.makefile("rb") as heard:
                    self.sent["commas"] = json.loads(heard.readline())["rows"]
                    connection.sendall(b"n,at\n")
                    while not self.stop.wait(0.05):
                        connection.sendall(f"{self.sent['commas']},{now()}\n".encode())
                        self.sent["commas"] = json.loads(heard.readline())["rows"]
            except (OSError, ValueError):
                # Killed, and it comes back.
                time.sleep(0.1)

    def _posted(self) -> None:
        at, unsure = self._at("posted"), False
        while not self.stop.wait(0.05):
            connection = http.client.HTTPConnection(at.host, at.port, timeout=10)
            try:
                if unsure:
                    connection.request("GET", "/")
                    self.sent["posted"], unsure = json.loads(connection.getresponse().read())["rows"], False
                body = json.dumps([{"at": now(), "n": self.sent["posted"]}])
                unsure = True
                connection.request("POST", "/", body, {"Content-Type": "application/json"})
                self.sent["posted"], unsure = json.loads(connection.getresponse().read())["rows"], False
            except (OSError, ValueError, KeyError, http.client.HTTPException):
                time.sleep(0.1)
            finally:
                connection.close()

    def _files(self) -> None:
        new = self.folder / "new"
        while not self.stop.wait(0.5):
            first = self.sent["files"]
            new.write_text("at,n\n" + "".join(f"{now()},{first + i}\n" for i in range(20)))
            # It is whole: its time says that it was not changed just now.
            os.utime(new, (time.time() - 60,) * 2)
            new.rename(self.folder / "come" / f"{first:08}.csv")
            self.sent["files"] += 20

    def _grows(self) -> None:
        while not self.stop.wait(0.05):
            with (self.folder / "rows.jsonl").open("a") as file:
                file.write(json.dumps({"at": now(), "n": self.sent["grows"]}) + "\n")
            self.sent["grows"] += 1

    def _piped(self) -> None:
        """Through `auroral up`, which goes on where it was when the source was killed, and says at the end how many there were."""
        command = [
            sys.executable,
            "-m",
            "auroral",
            "up",
            "--folder",
            str(self.fleet.deployed.folder),
            "--input",
            "piped=-",
        ]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as handing:
            assert handing.stdin is not None and handing.stderr is not None
            while not self.stop.wait(0.05):
                handing.stdin.write(json.dumps({"at": now(), "n": self.sent["piped"]}).encode() + b"\n")
                handing.stdin.flush()
                self.sent["piped"] += 1
            handing.stdin.close()
            said = handing.stderr.read().decode()
        assert handing.returncode == 0 and f"piped has ended: {self.sent['piped']} rows, left out: none" in said, said


def rows_of(fleet: Fleet, name: str) -> int:
    return int((fleet.status()[name] or {}).get("rows", 0))


def folder_of(fleet: Fleet, name: str) -> Path:
    return RunFolder.look(fleet.deployed.folder).source(name)


def frontier(fleet: Fleet) -> int:
    found = fleet.status()["client"] or {"streams": {}}
    return int(found["streams"].get("sums", {}).get("frontier", 0))


def closed(fleet: Fleet) -> int:
    status = fleet.status()
    return min((status[name] or {}).get("closed", 0) for name in WAYS)


def test_each_way_through_a_kill_of_its_source(
    running: Fleet, tmp_path: Path, spark: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(running.deployed.folder)
    sending = Sending(running, tmp_path)
    try:
        for name in WAYS:
            until(f"{name} takes rows", lambda name=name: rows_of(running, name) > 5)
        for name in WAYS:
            assert main(["kill", name, "--folder", folder]) == 0
        running.up(lambda _: None)
        before = {name: rows_of(running, name) for name in WAYS}
        for name in WAYS:
            until(f"{name} takes rows again", lambda name=name: rows_of(running, name) > before[name] + 5)
    finally:
        sending.close()
    for name in WAYS:
        until(f"all rows of {name}", lambda name=name: rows_of(running, name) >= sending.sent[name])
    # What is far in the future closes nothing, is counted, and shown.
    open_to = closed(running)
    at = sending._at("commas")
    with socket.create_connection((at.host, at.port), 10) as connection:
        heard = connection.makefile("rb")
        heard.readline()
        connection.sendall(b"at,n\n2999-01-01T00:00:00Z,0\n")
        assert json.loads(heard.readline())["left_out"] == {"in the future": 1}
        heard.close()
    (tmp_path / "come" / "wrong.csv").write_text("when,n\n1,2\n")
    capsys.readouterr()
    assert main(["status", "--folder", folder]) == 0
    assert "rows of commas: 1 in the future" in capsys.readouterr().out
    until("the wrong file is told of", lambda: [e for e in events_in(Path(folder)) if "no column 'at'" in str(e)])
    assert closed(running) < open_to + 300
    last = closed(running)
    until("all that was closed is stable", lambda: frontier(running) >= last)
    running.down(lambda _: None)
    report = verify_folder(spark, running.deployed.folder)
    assert report.ok, report.text
    for name in WAYS:
        source = running.deployed.checked.diagram.input(name)
        assert source is not None
        with SourceLog.open(folder_of(running, name), source.schema, readonly=True) as log:
            assert log.read().sort_by(SEQ).column("n").to_pylist() == list(range(sending.sent[name])), name
        assert f"input {name}: rows logged, in unbroken order: {sending.sent[name]}\n" in report.text, report.text


def test_what_cannot_come_in_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    for how, complaint in [
        (f"{tmp_path / 'no'}/", r"there is no folder .*no\n    allowed: a folder that is there(.|\n)*mkdir -p"),
        (f"tail:{tmp_path / 'no' / 'rows.csv'}", "there is no folder"),
        ("tcp+yaml:", "tcp has no format 'yaml'"),
        ("https:host:1", "did you mean http:host:1"),
    ]:
        with pytest.raises((DeploymentError, auroral.AuroralError), match=complaint):
            prepare(tmp_path / "live", watch().check(), inputs={"files": how})
        assert not (tmp_path / "live").exists()
