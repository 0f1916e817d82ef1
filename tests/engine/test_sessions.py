"""The same diagram on a local session, a `spark://` master with a worker, and a Spark Connect server."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from auroral.engine.java import ensure_java
from auroral.engine.session import start_session
from engine.evaluators import by_reference
from engine.one_session import PARTITIONS_CHOSEN, SOURCES, SWAPPED, UNTIL, as_json, outcomes, small_diagram
from engine.test_own_session import WATCHED

pytestmark = pytest.mark.spark

TESTS = Path(__file__).parent.parent
PATIENCE = 180


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def environment() -> dict[str, str]:
    import pyspark

    ensure_java()
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")])),
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_NO_DAEMONIZE": "1",
        # Master, worker and executors are no programs that SPARK_SUBMIT_OPTS is for.
        "JDK_JAVA_OPTIONS": os.environ["SPARK_SUBMIT_OPTS"],
    }


@contextmanager
def server(log: Path, port: int, *command: str) -> Iterator[None]:
    """A process of Spark's own, listening on `port`; it and its children end with the block."""
    with log.open("wb") as opened:
        process = subprocess.Popen(
            [f"{environment()['SPARK_HOME']}/bin/{command[0]}", *command[1:]],
            stdout=opened,
            stderr=subprocess.STDOUT,
            env=environment(),
            cwd=log.parent,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + PATIENCE
        while not listening(port):
            assert process.poll() is None, f"{command} ended:\n{log.read_text()[-3000:]}"
            assert time.monotonic() < deadline, f"{command} does not listen:\n{log.read_text()[-3000:]}"
            time.sleep(0.2)
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(20)


def listening(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def outcome_at(address: str, folder: Path) -> dict[str, dict[str, list]]:
    program = [sys.executable, "-m", "engine.one_session", address, str(folder)]
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


def assert_all(found: dict[str, dict[str, list]], expected: dict[str, dict[str, list]]) -> None:
    assert found.keys() == {"small", "swapped", "large", "batch"}
    for path, outputs in found.items():
        for name, rows in expected["swapped" if path == "swapped" else "plain"].items():
            assert outputs[name] == rows, f"{path}: {name}"


@pytest.mark.usefixtures("generated_code")
def test_a_local_session(spark, tmp_path, expected):
    """On the Spark that the other tests have: a session of its own, as a program gets that has a Spark already."""
    beside = start_session(partitions=PARTITIONS_CHOSEN)
    assert beside.sparkContext is spark.sparkContext
    assert_all(outcomes(beside, tmp_path), expected)


def test_a_standalone_master(tmp_path, expected):
    port, ui, worker_port, worker_ui = (free_port() for _ in range(4))
    master = f"spark://127.0.0.1:{port}"
    run = ("spark-class", "org.apache.spark.deploy.master.Master")
    work = ("spark-class", "org.apache.spark.deploy.worker.Worker")
    with (
        server(tmp_path / "master.log", port, *run, "-h", "127.0.0.1", "-p", str(port), "--webui-port", str(ui)),
        server(
            *(tmp_path / "worker.log", worker_port, *work, "-h", "127.0.0.1", "-p", str(worker_port)),
            *("--webui-port", str(worker_ui), "-c", "2", "-m", "2g", "-d", str(tmp_path / "work"), master),
        ),
    ):
        assert_all(outcome_at(master, tmp_path), expected)
    assert any((tmp_path / "work").iterdir()), "no executor ran on the worker"


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
    assert_all(outcome_at(connect, tmp_path), expected)


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
