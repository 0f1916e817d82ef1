"""A session of the user's own is left as it is, whatever Auroral needs for its own; and jobs can be given up."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import warnings
from typing import TYPE_CHECKING
from unittest.mock import MagicMock

import pytest

from auroral.engine.session import RUNTIME, cancel_job_group, lane, set_job_group, start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

WATCHED = [*RUNTIME, "spark.sql.shuffle.partitions", "spark.sql.codegen.wholeStage"]

# In a process of its own: this one's Spark was started by Auroral.
PROGRAM = """
import sys
from auroral.engine.java import ensure_java
ensure_java()
from pyspark.sql import SparkSession
theirs = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
theirs.sparkContext.setLogLevel("OFF")
watched = {watched!r}
before = {{key: theirs.conf.get(key, None) for key in watched}}
import auroral
d = auroral.diagram("d", bucket="1s")
d.input("x", "ts timestamp, v double", stime="ts").filter("f", "v > 1.0").output()
with auroral.run(d) as app:
    app.push("x", [{{"ts": "2026-03-01T12:00:00Z", "v": 2.0}}])
    app.close()
    app.await_termination()
    assert app.table("f").num_rows == 1
    assert auroral.verify(app.folder).ok
after = {{key: theirs.conf.get(key, None) for key in watched}}
assert after == before, (before, after)
assert theirs.catalog.listTables() == []
assert SparkSession.builder.getOrCreate() is theirs
assert theirs.sql("select 1").collect()
print("left alone")
"""


def test_a_session_of_the_users_is_left_alone() -> None:
    program = [sys.executable, "-c", PROGRAM.format(watched=WATCHED)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.splitlines()[-1:] == ["left alone"], done.stderr[-3000:]


def test_each_session_is_a_new_one_on_the_same_spark(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", "7")
    try:
        other = start_session(partitions=3)
        assert other.sparkContext is spark.sparkContext
        assert other.conf.get("spark.sql.shuffle.partitions") == "3"
        assert spark.conf.get("spark.sql.shuffle.partitions") == "7"
        assert {key: other.conf.get(key) for key in RUNTIME} == RUNTIME
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")


def test_a_job_group_is_cancelled_within_seconds(spark: SparkSession) -> None:
    failed: list[BaseException] = []

    def work() -> None:
        set_job_group(spark, "to be cancelled")
        try:
            spark.range(10**12).selectExpr("sum(id * id % 7)").collect()
        except Exception as error:  # noqa: BLE001
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    began = time.monotonic()
    while thread.is_alive() and time.monotonic() - began < 30:
        cancel_job_group(spark, "to be cancelled")
        thread.join(0.1)
    assert not thread.is_alive()
    assert "cancel" in str(failed[0]).lower()
    assert spark.range(3).count() == 3


def test_a_warning_while_a_session_is_made_stays_a_warning() -> None:
    def warned() -> MagicMock:
        warnings.warn("soon gone", FutureWarning, stacklevel=1)
        return MagicMock()

    with pytest.warns(FutureWarning, match="soon gone"):
        lane(MagicMock(newSession=warned), {})
