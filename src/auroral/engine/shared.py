"""One Spark for several processes on one machine: one of them starts it, the others attach to its JVM.

A JVM of its own costs each process 6 to 10 s and some 500 MB; to attach takes about a second, and a process that is killed leaves the
JVM and the others unharmed. Whoever has the secret can run anything in the JVM, so it is for processes of one user on one machine.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from auroral.engine.session import configured, need_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Gateway:
    port: int
    secret: str


def gateway_of(session: SparkSession) -> Gateway:
    """Where others attach to the Spark of this process, for as long as it lives."""
    parameters = session.sparkContext._gateway.gateway_parameters  # type: ignore[union-attr]
    return Gateway(int(parameters.port), str(parameters.auth_token))


def jvm_of(session: SparkSession) -> int:
    """The number of the JVM's process, which this process started."""
    return int(session.sparkContext._gateway.proc.pid)  # type: ignore[union-attr]


def jvm_lives(session: SparkSession) -> bool:
    """Whether the JVM that this process started has not ended."""
    return session.sparkContext._gateway.proc.poll() is None  # type: ignore[union-attr]


def stop_own(session: SparkSession) -> None:
    """Ends the Spark of this process, unless it has ended by itself."""
    if jvm_lives(session):
        session.stop()


def attached(gateway: Gateway) -> SparkSession:
    """A session on the Spark that another process started. This process must have none of its own."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    need_java()
    os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"] = str(gateway.port), gateway.secret
    connected = launch_gateway()  # type: ignore[no-untyped-call]
    jvm = connected.jvm
    theirs = jvm.JavaSparkContext.fromSparkContext(jvm.org.apache.spark.SparkContext.getOrCreate())
    conf = SparkConf(_jconf=theirs.getConf())
    context = SparkContext(gateway=connected, jsc=theirs, conf=conf)
    session = SparkSession(context).newSession()
    return configured(session, context.defaultParallelism)
