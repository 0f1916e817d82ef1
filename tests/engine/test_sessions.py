"""The same diagram on a local session, a `spark://` master with a worker, and a Spark Connect server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from auroral.engine.session import start_session
from engine.evaluators import by_reference
from engine.one_session import PARTITIONS_CHOSEN, SOURCES, SWAPPED, UNTIL, WAYS, as_json, outcomes, small_diagram
from engine.servers import PATIENCE, environment, free_port, server, standalone
from engine.test_own_session import WATCHED

pytestmark = pytest.mark.spark


def outcome_at(address: str, folder: Path, *ways: str) -> dict[str, dict[str, list]]:
    program = [sys.executable, "-m", "engine.one_session", address, str(folder), *ways]
    done = subprocess.run(program, capture_output=True, text=True, timeout=PATIENCE * 2, env=environment(), check=False)
    assert done.returncode == 0, f"{address}:\n{done.stdout[-2000:]}\n{done.stderr[-6000:]}"
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def expected() -> dict[str, dict[str, list]]:
    def top(rows):
        keys = dict.fromkeys(row.values[1] for row in rows)
        return [(None, (key, max(row.values[2] for row in rows if row.values[1] == key))) for key in keys]

    checked = small_diagram()
    expected = {}
    for which, sources in (("plain", SOURCES), ("swapped", SWAPPED)):
        shown = as_json(by_reference(checked, sources, UNTIL, {"top": top}))
        assert all(shown.values())
        expected[which] = shown
    assert expected["plain"] != expected["swapped"]
    return expected


def assert_all(found: dict[str, dict[str, list]], expected: dict[str, dict[str, list]], *ways: str) -> None:
    assert tuple(found) == ways
    for path, outputs in found.items():
        for name, rows in expected["swapped" if path == "swapped" else "plain"].items():
            assert outputs[name] == rows, f"{path}: {name}"


@pytest.mark.usefixtures("generated_code")
def test_a_local_session(spark, tmp_path, expected):
    """On the Spark that the other tests have: a session of its own, as a program gets that has a Spark already."""
    beside = start_session(partitions=PARTITIONS_CHOSEN)
    assert beside.sparkContext is spark.sparkContext
    assert_all(outcomes(beside, tmp_path), expected, *WAYS)


def test_a_standalone_master(tmp_path, expected):
    """Small jobs, and one that its executors read files for. Two engines at once, and the batch run, are no matter of who computes."""
    ways = ("small", "large")
    with standalone(tmp_path, workers=1) as master:
        assert_all(outcome_at(master, tmp_path, *ways), expected, *ways)
    assert any((tmp_path / "work0").iterdir()), "no executor ran on the worker"


@pytest.fixture(scope="module")
def connect(tmp_path_factory) -> Iterator[str]:
    """The address of a Spark Connect server."""
    port = free_port()
    settings = ["--conf", f"spark.connect.grpc.binding.port={port}", "--conf", "spark.ui.enabled=false"]
    settings += ["--conf", "spark.connect.grpc.binding.address=127.0.0.1", "--driver-memory", "1g"]
    connect = "org.apache.spark.sql.connect.service.SparkConnectServer"
    with server(
        tmp_path_factory.mktemp("connect") / "connect.log",
        port,
        *("spark-submit", "--class", connect, "--name", "connect", "--master", "local[2]", *settings, "spark-internal"),
    ):
        yield f"sc://localhost:{port}"


def test_a_connect_server(connect, tmp_path, expected):
    """The batch run is below, from a session of a user's."""
    ways = ("small", "swapped", "large")
    assert_all(outcome_at(connect, tmp_path, *ways), expected, *ways)


CONNECTED = """
import sys
from pyspark.sql import SparkSession
theirs = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
watched = {watched!r}
before = {{key: theirs.conf.get(key, None) for key in watched}}
from auroral.engine.session import cancel_job_group, set_job_group, start_session
ours = start_session(sys.argv[1].replace("localhost", "127.0.0.1"), partitions=3)
assert (theirs.client.host, ours.client.host) == ("localhost", "127.0.0.1")
set_job_group(ours, "group")
assert ours.range(5).count() == 5
cancel_job_group(ours, "group")
assert ours.conf.get("spark.sql.shuffle.partitions") == "3"
# Theirs has ANSI mode, in which a division by zero would stop the run.
import auroral
d = auroral.diagram("d", bucket="1s")
d.input("x", "ts timestamp, v int", stime="ts").map("m", {{"v": "1 / v"}}).output()
assert auroral.batch(d, {{"x": [{{"ts": "2026-03-01T12:00:00Z", "v": 0}}]}}, session=theirs).tables["m"].num_rows == 1
with auroral.run(d, session=theirs) as app:
    app.push("x", [{{"ts": "2026-03-01T12:00:00Z", "v": 0}}])
    app.close()
    app.await_termination()
    assert app.table("m").num_rows == 1
    taken = app.status.footprint
    assert taken.driver_rss and (taken.jvm_rss, taken.jvm_threads, taken.jvm_metaspace) == (None, None, None)
after = {{key: theirs.conf.get(key, None) for key in watched}}
assert after == before, (before, after)
print("left alone")
"""


def test_a_connect_session_of_the_users_is_left_alone(connect):
    program = [sys.executable, "-c", CONNECTED.format(watched=WATCHED), connect]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["left alone"]), done.stderr[-3000:]
