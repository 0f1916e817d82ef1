"""What a run takes of its machine is measured, where it can be."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest.mock import MagicMock

import pytest
from py4j.protocol import Py4JNetworkError

from auroral.engine.footprint import Footprint, footprint_of, resident

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MB = 2**20


@pytest.mark.spark
def test_driver_and_jvm(spark: SparkSession) -> None:
    measure = footprint_of(spark)
    held = b"x" * (100 * MB)
    with_it = measure()
    del held
    found = measure()
    assert found.driver_rss is not None and with_it.driver_rss is not None
    assert 90 * MB < with_it.driver_rss - found.driver_rss < 110 * MB
    # None of these is a count of kilobytes or pages. Classes from the archive of the tests take nothing of the metaspace.
    assert found.jvm_rss is not None and 200 * MB < found.jvm_rss < 10_000 * MB
    assert found.jvm_metaspace is not None and MB < found.jvm_metaspace < found.jvm_rss
    assert found.jvm_threads is not None and 10 < found.jvm_threads < 1000


@pytest.mark.spark
def test_sorts_and_hash_tables_of_few_rows_take_little(spark: SparkSession) -> None:
    """A page each, until their task ends: with those that Spark takes by itself, a task of some dozen would fill the heap."""
    assert spark.sparkContext.getConf().get("spark.buffer.pageSize") == "4m"


def test_a_process_that_is_not_there() -> None:
    assert resident("self")
    assert resident(str(2**22 + 1)) is None


def test_a_jvm_that_has_ended() -> None:
    session = MagicMock()
    jvm = session.sparkContext._jvm
    jvm.java.lang.ProcessHandle.current().pid.return_value = 2**22 + 1
    metrics = jvm.com.codahale.metrics.jvm
    metrics.MemoryUsageGaugeSet().getMetrics()["any"].getValue.side_effect = Py4JNetworkError("it has ended")
    metrics.ThreadStatesGaugeSet().getMetrics()["any"].getValue.side_effect = Py4JNetworkError("it has ended")
    found = footprint_of(session)()
    assert found == Footprint(found.driver_rss)
