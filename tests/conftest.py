"""One Spark session for all tests of a process: starting it takes seconds. And the same sources in every process."""

from __future__ import annotations

import gc
import os
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

import auroral
from auroral.engine.session import LARGE_PATH
from engine.interpreted import INTERPRETED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Programs that tests start, in whatever folder, use the sources that these tests use.
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(Path(auroral.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
)

# A Java that lives for seconds, or evaluates thousands of different plans once, spends most of its time compiling itself to
# its fastest form, and much of the rest loading Spark's classes. For programs that tests start too. Without that form it has
# room for 48 MB of compiled code, which it seems to fill in minutes: then it throws code away, and compiles it again. Planning makes
# hundreds of MB of short-lived objects a second: with room for them, far fewer collections copy those that are in use just then.
JAVA = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC -Xmn400m -XX:MetaspaceSize=256m"
CLASSES = Path(sys.prefix) / "spark-classes.jsa"
ARCHIVE = f' "-XX:SharedArchiveFile={CLASSES}" -Xlog:cds*=off' if CLASSES.exists() else ""
os.environ.setdefault("SPARK_SUBMIT_OPTS", JAVA + ARCHIVE)

# For `make test-fast`; `make test` and CI draw as many examples as each test says.
settings.register_profile("fast", max_examples=15)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where files are shared out among processes, the long ones come first, so that all processes end at about the same time."""
    if not hasattr(config, "workerinput"):
        return
    weights: dict[Path, int] = {}
    for item in items:
        weight = 2 if item.get_closest_marker("spark") else 1 if item.get_closest_marker("slow") else 0
        weights[item.path] = max(weight, weights.get(item.path, 0))
    items.sort(key=lambda item: -weights[item.path])


@pytest.fixture
def bytes_held() -> Iterator[Callable[[str], int]]:
    """Counts what source files of a pattern hold since the test began: other threads and Python's caches come and go."""

    def count(pattern: str) -> int:
        gc.collect()
        found = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, pattern)])
        return sum(trace.size for trace in found.traces)

    tracemalloc.start()
    yield count
    tracemalloc.stop()


@pytest.fixture(scope="module")
def interpreted() -> Iterator[None]:
    """Large jobs without generated code and planned as small ones are: compiling Java for each of some hundred plans would take most of
    the tests' time.

    What generated code gives is compared in `test_sessions` and `test_run`, for some diagrams in `test_equivalence`, and for
    all with HYPOTHESIS_PROFILE=long.
    """
    with pytest.MonkeyPatch.context() as patch:
        if os.environ.get("HYPOTHESIS_PROFILE") != "long":
            for key, value in INTERPRETED.items():
                patch.setitem(LARGE_PATH, key, value)
        yield


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    from auroral.engine.session import start_session

    session = start_session("local[2]")
    yield session
    session.stop()


@pytest.fixture
def commands_share_spark(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """`auroral.cli.main`, called in this process, uses the session of all tests: to start one takes longer than most commands."""
    for module in ("run", "batch", "verify", "query", "spark"):
        monkeypatch.setattr(f"auroral.commands.{module}.session_for", lambda *_, **__: spark)
