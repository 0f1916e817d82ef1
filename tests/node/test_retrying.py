"""A job that fails is run once more, unless it is certain to fail again: by then it is the data's fault."""

import logging
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import AnalysisException, PySparkException

import auroral
from auroral.edge.client import Boundary
from auroral.engine.failures import UserCodeFailed
from auroral.model.expression import Functions
from auroral.model.expression.functions import make_function
from auroral.node.runner import Runner
from auroral.node.status import State
from node.running import B, PassOn, rows, runner_in
from node.test_runner import checked, stimes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def failing(*errors: Exception) -> PassOn:
    """An engine whose first jobs fail with these."""
    waiting = list(errors)

    def fail(lo: int, hi: int) -> None:
        if waiting:
            raise waiting.pop(0)

    return PassOn(before=fail)


def run_with(folder: Path, engine: PassOn) -> Runner:
    runner = runner_in(folder, checked(), engine)
    runner.sources["s0"].take(rows(1.5, 2.5, 3.5), 0)
    runner.sources["s0"].end()
    return runner


def test_a_job_that_fails_once_is_run_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    runner = run_with(tmp_path / "run", failing(PySparkException("a worker was lost\n  at java")))
    runner.run()
    assert runner.state is State.FINISHED and stimes(runner) == [1.5, 2.5, 3.5]
    assert runner.account.rows_in == 3, "each range is counted once"
    assert runner.status().retries == runner.status().to_json()["retries"] == 1
    (said,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert said.getMessage() == (
        "a job from stime 1000000 on failed and is run again: PySparkException: a worker was lost"
    )


@pytest.mark.parametrize("error", [PySparkException("the JVM has gone"), ConnectionRefusedError(111, "refused")])
def test_a_spark_that_ends_while_the_run_is_stopping_is_no_failure(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    """As where a service is stopped: SIGTERM goes to the program and to its Java alike."""
    told: list[Runner] = []

    def gone(lo: int, hi: int) -> None:
        told[0].request_stop(drain=False)
        raise error

    told.append(run_with(tmp_path / "run", PassOn(before=gone)))
    told[0].run()
    assert told[0].state is State.STOPPED and told[0].error is None and told[0].status().retries == 0
    assert "while the run was stopping" in caplog.text
    resumed = runner_in(tmp_path / "run", checked(), PassOn())
    resumed.run()
    assert resumed.state is State.FINISHED and stimes(resumed) == [1.5, 2.5, 3.5]


def test_a_function_that_fails_while_the_run_is_stopping_is_told(tmp_path: Path) -> None:
    told: list[Runner] = []

    def wrong(lo: int, hi: int) -> None:
        told[0].request_stop(drain=False)
        raise UserCodeFailed("box 'm': function 'f' failed", lo, hi)

    told.append(run_with(tmp_path / "run", PassOn(before=wrong)))
    with pytest.raises(UserCodeFailed):
        told[0].run()
    assert told[0].state is State.FAILED


def test_a_job_that_fails_twice_ends_the_run(tmp_path: Path) -> None:
    runner = run_with(tmp_path / "run", failing(PySparkException("first"), PySparkException("second")))
    with pytest.raises(PySparkException, match="second"):
        runner.run()
    assert (runner.state, runner.retries) == (State.FAILED, 1)
    again = runner_in(tmp_path / "run", checked(), PassOn())
    again.run()
    assert stimes(again) == [1.5, 2.5, 3.5], "nothing is lost"


@pytest.mark.parametrize(
    "error",
    [UserCodeFailed("box 'f': function 'g' failed", 0, B), AnalysisException("no such column"), KeyError("our own")],
    ids=["users", "refused", "ours"],
)
def test_what_is_certain_to_fail_again_ends_the_run_at_once(tmp_path: Path, error: Exception) -> None:
    runner = run_with(tmp_path / "run", failing(error))
    with pytest.raises(type(error)):
        runner.run()
    assert (runner.state, runner.retries) == (State.FAILED, 0)


def test_each_job_may_fail_once(tmp_path: Path) -> None:
    tried: set[int] = set()

    def fail_at_first(lo: int, hi: int) -> None:
        if lo not in tried:
            tried.add(lo)
            raise PySparkException("a worker was lost")

    runner = run_with(tmp_path / "run", PassOn(before=fail_at_first))
    runner.limits = replace(runner.limits, most_buckets=1)
    runner.run()
    assert (runner.state, runner.retries) == (State.FINISHED, 3)
    assert stimes(runner) == [1.5, 2.5, 3.5]


@pytest.mark.spark
@pytest.mark.usefixtures("interpreted")
def test_a_run_outlives_a_worker_that_is_killed(
    spark: "SparkSession", tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """In the middle of a run, with a fold and windows to be brought back to where they were."""
    killed = tmp_path / "killed"

    def fragile(v: int) -> int:
        if v == 7 and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return v

    d = auroral.diagram("d", bucket="1s")
    numbers = d.input("s", "ts long, v long", stime="ts", unit="s").map("m", {"v": "fragile(v)"})
    numbers.running("total", {"sum": "sum(v)"}).output()
    numbers.aggregate("windows", {"n": "count()"}, window="3s", advance="1s").output()
    given = d.check(Functions().plus(make_function("fragile", fragile, "long", "long")))
    with auroral.run(given, folder=tmp_path / "run", session=spark) as app:
        app.push("s", [{"ts": at, "v": at} for at in range(6)])
        for event in app.subscribe("total"):
            if event == Boundary(5 * B):
                app.push("s", [{"ts": at, "v": at} for at in range(6, 10)])
                app.close()
        assert app.status.state is State.FINISHED and app.status.retries == 1
        assert app.table("total").column("sum").to_pylist() == [sum(range(n + 1)) for n in range(10)]
    assert killed.exists() and "failed and is run again" in caplog.text
    assert auroral.verify(tmp_path / "run", spark).ok
