"""The Spark session, with every setting that we rely on and why."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from auroral.engine.java import JavaNotFound, ensure_java
from auroral.model.errors import AuroralError

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
    # A name or a text that looks like ${spark.master} is that name or text.
    "spark.sql.variable.substitute": "false",
    # A pass resolves about one step of a statement: the default of 100 is not enough for a long diagram.
    "spark.sql.analyzer.maxIterations": "10000",
    # Only for names that Spark makes up for columns with a collation, of which we have neither.
    "spark.sql.runCollationTypeCastsBeforeAliasAssignment.enabled": "false",
    # Plans must not depend on sizes seen at run time, and re-planning costs more than a small job.
    "spark.sql.adaptive.enabled": "false",
    # Arrow all the way; a silent fall-back to pickling would hide a type that we do not support.
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.pyspark.fallback.enabled": "false",
    # Integers and floats have one spelling in Parquet; timestamps in microseconds, as everywhere here.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Spark's parser keeps what it learnt from every statement that it has read. A diagram's few statements need some hundred states of
    # about 11 KB; those of ever other diagrams and queries would fill the heap in the end, so it then starts anew.
    "spark.sql.parser.manageParserCaches": "true",
    "spark.sql.parser.parserDfaCacheFlushThreshold": "20000",
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
    # A sort and a hash table take whole pages until their task ends, however few their rows are. By itself Spark takes pages of 32 MB with a
    # heap of 2 GB: one task of a plan with some dozen aggregates, as `apply` boxes make it, and the heap is full.
    "spark.buffer.pageSize": "4m",
    # A JVM out of memory loses threads, and jobs that wait for them would never end. Whoever uses it sees that it is gone.
    "spark.driver.extraJavaOptions": "-XX:+ExitOnOutOfMemoryError",
}

_OPTIMIZER = "org.apache.spark.sql.catalyst.optimizer."

QUICK_PLANS = {
    # What follows from the predicates of a plan is worth finding where it keeps rows from being read: here they are few, and of a plan with
    # many boxes the search takes a fifth of the planning.
    "spark.sql.constraintPropagation.enabled": "false",
    # Rules that go over each plan a dozen times and find nothing in those of diagrams, or nothing that matters with few rows: another
    # quarter of the planning.
    "spark.sql.optimizer.excludedRules": ",".join(
        _OPTIMIZER + rule
        for rule in (
            "CollapseRepartition",
            "ConstantPropagation",
            "FoldablePropagation",
            "GenerateOptimization",
            "NullDownPropagation",
            "OptimizeCsvJsonExprs",
            "PushLeftSemiLeftAntiThroughJoin",
            "RemoveRedundantAggregates",
            "ReplaceNullWithFalseInPredicate",
            "SimplifyBinaryComparison",
            "SimplifyExtractValueOps",
            "UnwrapCastInBinaryComparison",
        )
    ),
}

SMALL_PATH = {
    **QUICK_PLANS,
    # One task a stage, and so no shuffle: there are few rows.
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    # Interpreted expressions: what a job reads stands in its statement, and would be compiled anew for each.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Spark writes a description of each plan for its user interface; its default form costs some milliseconds a job.
    "spark.sql.ui.explainMode": "simple",
    # What a job reads goes to its task as Arrow. Below this size Spark would make rows of it in the driver and send those: with 135,000 of
    # them, 1.6 s a job instead of 0.6.
    "spark.sql.execution.arrow.localRelationThreshold": "0",
}

# For middling jobs: 7,000 rows repay no compiling, and the first job that is compiled takes 0.6 s longer, which may be a guess that is
# due. Not whole stages: those take longer to compile than they save.
COMPILED_EXPRESSIONS = {"spark.sql.codegen.factoryMode": "FALLBACK"}

LARGE_PATH = {**COMPILED_EXPRESSIONS, "spark.sql.codegen.wholeStage": "true"}

DEFAULT_MASTER = "local[2]"

PARTITIONS = "spark.sql.shuffle.partitions"


class NoJava(AuroralError):
    """Spark cannot start, since there is no Java that it runs on."""


def need_java() -> None:
    """Find a Java for Spark, or say where it was looked for and what to do."""
    try:
        ensure_java()
    except JavaNotFound as error:
        raise NoJava(str(error)) from error


def start_session(
    master: str = DEFAULT_MASTER, *, memory: str = "2g", partitions: int | None = None, cores: int | None = None
) -> SparkSession:
    """A session of our own on a local Spark, a `spark://` master, or a Spark Connect address (`sc://host:port`). Of a `spark://` master it
    takes so many `cores`, or all that there are.

    Where this process has a Spark already, that one is used and its sessions are left as they are: our settings are for
    the new session only.
    """
    if master.startswith("sc://"):
        return configured(_connect(master), partitions)
    session = _local_or_cluster(master, memory, cores).newSession()
    # Spark's default of 200 is for clusters; here it would be 200 tasks a stage on two cores.
    return configured(session, partitions or session.sparkContext.defaultParallelism)


def is_remote(session: SparkSession) -> bool:
    """Whether the session is a client of a Spark Connect server."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def set_job_group(session: SparkSession, group: str, *, interrupt: bool = True) -> None:
    """Jobs that this thread starts from now on belong to `group`.

    With `interrupt`, tasks of a cancelled job are interrupted: one that waits for a Python worker would not notice otherwise. What they
    have of Arrow's memory is then lost to the JVM, so it is for the end of a run, not for every day.
    """
    if is_remote(session):
        session.addTag(group)
    else:
        session.sparkContext.setJobGroup(group, "auroral", interruptOnCancel=interrupt)


def cancel_job_group(session: SparkSession, group: str) -> None:
    """Cancel the jobs of `group` that are running now, from any thread."""
    if is_remote(session):
        session.interruptTag(group)
    else:
        session.sparkContext.cancelJobGroup(group)


def _local_or_cluster(master: str, memory: str, cores: int | None) -> SparkSession:
    """The Spark of this process; started, with the settings that it must have from the beginning, where there is none."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    # Not `getActiveSession`, which knows only of this thread's.
    if SparkContext._active_spark_context is not None:
        return SparkSession.builder.getOrCreate()
    need_java()
    # Workers must have the packages that the driver has.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("auroral").config("spark.driver.memory", memory)
    for key, value in {**STATIC, **({} if cores is None else {"spark.cores.max": str(cores)})}.items():
        builder = builder.config(key, value)
    started = builder.getOrCreate()
    started.sparkContext.setLogLevel("ERROR")
    return started


def _connect(address: str) -> SparkSession:
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.session import SparkSession as RemoteSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    theirs = RemoteSession.getActiveSession() or RemoteSession._get_default_session()
    builder = SparkSession.builder.remote(address)
    if theirs is None:
        return builder.getOrCreate()
    # `getOrCreate` would give theirs, whatever its address is.
    ours = builder.create()
    # Its threads would keep the program from ending.
    atexit.register(ours.stop)
    return ours


def configured(session: SparkSession, partitions: int | None) -> SparkSession:
    for key, value in RUNTIME.items():
        session.conf.set(key, value)
    if partitions is not None:
        session.conf.set(PARTITIONS, str(partitions))
    return session


def lane(session: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """A session beside `session` on the same Spark, with its own views and `settings`."""
    beside = session.newSession()
    # A new session starts from Spark's defaults: what the caller chose must not be lost.
    chosen = {PARTITIONS: str(session.conf.get(PARTITIONS))}
    for key, value in {**chosen, **RUNTIME, **settings}.items():
        beside.conf.set(key, value)
    return beside


@contextmanager
def lent(session: SparkSession, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """The session itself, with our settings for one job; then with those that it had.

    For Spark Connect, where a second session would have threads of its own that outlive the program's end.
    """
    before = session.conf.getAll
    changed = {key: value for key, value in {**RUNTIME, **settings}.items() if before.get(key) != value}
    try:
        for key, value in changed.items():
            session.conf.set(key, value)
        yield session
    finally:
        for key in changed:
            if key in before:
                session.conf.set(key, before[key])
            else:
                session.conf.unset(key)
