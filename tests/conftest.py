"""One Spark session for all tests that need one: starting it takes seconds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# For `make test-fast`; `make test` and CI draw as many examples as each test says.
settings.register_profile("fast", max_examples=15)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    from auroral.engine.session import start_session

    session = start_session("local[2]")
    yield session
    session.stop()
