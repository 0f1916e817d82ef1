"""One Spark session for all tests that need one: starting it takes seconds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    from auroral.engine.session import start_session

    session = start_session("local[2]")
    yield session
    session.stop()
