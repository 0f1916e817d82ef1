"""The Spark session, with every setting that we rely on and why."""

from __future__ import annotations

import os
import sys
import warnings
from typing import TYPE_CHECKING

from auroral.engine.java import ensure_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Settings that belong to a session and may be changed on a running one, local or remote.
RUNTIME = {
    # Replicas in different places must agree on what a timestamp's text or date is.
    "spark.sql.session.timeZone": "UTC",
    # One bad row must not stop a stream: expressions are compiled to forms that give NULL, not errors.
    "spark.sql.ansi.enabled": "false",
    # Names are normalised in the model; Spark must not fold them a second time.
    "spark.sql.caseSensitive": "true",
    # Plans must not depend on sizes seen at run time, and re-planning costs more than a small job.
    "spark.sql.adaptive.enabled": "false",
    # Arrow all the way; a silent fall-back to pickling would hide a type that we do not support.
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.pyspark.fallback.enabled": "false",
    # Integers and floats have one spelling in Parquet; timestamps in microseconds, as everywhere here.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # The checksum and the row count of a segment are ours; Spark's own markers only cost files.
    "spark.sql.sources.commitProtocolClass": "org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}

# Settings that must be there when the JVM starts.
STATIC = {
    "spark.ui.enabled": "false",
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "50",
    "spark.ui.retainedTasks": "500",
    "spark.sql.ui.retainedExecutions": "20",
    # Memory stays flat over days only if dropped blocks and shuffles are really collected.
    "spark.cleaner.periodicGC.interval": "10min",
    "spark.ui.showConsoleProgress": "false",
    "spark.locality.wait": "0",
    "spark.scheduler.mode": "FAIR",
    "spark.python.worker.reuse": "true",
    "spark.sql.artifact.isolation.enabled": "false",
}

SMALL_PATH = {
    # One task a stage: below about 10,000 rows a second task costs more than it saves.
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    # Interpreted expressions: compiling Java for a job of some milliseconds never pays.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}

LARGE_PATH = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
}

DEFAULT_MASTER = "local[2]"

PARTITIONS = "spark.sql.shuffle.partitions"


def start_session(master: str = DEFAULT_MASTER, *, memory: str = "2g", partitions: int | None = None) -> SparkSession:
    """A session on a local Spark, a `spark://` master, or a Spark Connect address (`sc://host:port`)."""
    # Workers must have the packages that the driver has.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if master.startswith("sc://"):
        return _configured(_connect(master), partitions)
    ensure_java()
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("auroral").config("spark.driver.memory", memory)
    for key, value in STATIC.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    # Spark's default of 200 is for clusters; here it would be 200 tasks a stage on two cores.
    return _configured(session, partitions or session.sparkContext.defaultParallelism)


def is_remote(session: SparkSession) -> bool:
    """Whether the session is a client of a Spark Connect server."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def _connect(address: str) -> SparkSession:
    from pyspark.sql import SparkSession

    return SparkSession.builder.remote(address).getOrCreate()


def _configured(session: SparkSession, partitions: int | None) -> SparkSession:
    for key, value in RUNTIME.items():
        session.conf.set(key, value)
    if partitions is not None:
        session.conf.set(PARTITIONS, str(partitions))
    return session


def lane(session: SparkSession, settings: dict[str, str]) -> SparkSession:
    """A session beside `session` on the same Spark, with its own views and `settings`.

    A Spark Connect client has one session only: a second one would have threads of its own that outlive the program's end.
    """
    if is_remote(session):
        for key, value in settings.items():
            session.conf.set(key, value)
        return session
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        beside = session.newSession()
    # A new session starts from Spark's defaults: what the caller chose must not be lost.
    chosen = {PARTITIONS: str(session.conf.get(PARTITIONS))}
    for key, value in {**chosen, **RUNTIME, **settings}.items():
        beside.conf.set(key, value)
    return beside
