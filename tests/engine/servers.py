"""Processes of Spark's own, from the installed pyspark: a master with its workers, a Spark Connect server."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from auroral.engine.java import ensure_java

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


@contextmanager
def standalone(folder: Path, workers: int, cores: int = 2) -> Iterator[str]:
    """The address of a master with so many workers of two gigabytes each, that work in `folder`/work0 and so on."""
    port, ui = free_port(), free_port()
    master = f"spark://127.0.0.1:{port}"
    run = ("spark-class", "org.apache.spark.deploy.master.Master")
    work = ("spark-class", "org.apache.spark.deploy.worker.Worker")
    with ExitStack() as running:
        at = ("-h", "127.0.0.1", "-p", str(port), "--webui-port", str(ui))
        running.enter_context(server(folder / "master.log", port, *run, *at))
        for number in range(workers):
            own, own_ui = free_port(), free_port()
            at = ("-h", "127.0.0.1", "-p", str(own), "--webui-port", str(own_ui))
            takes = ("-c", str(cores), "-m", "2g", "-d", str(folder / f"work{number}"))
            running.enter_context(server(folder / f"worker{number}.log", own, *work, *at, *takes, master))
        yield master
