"""One Spark for the proofs of all runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from faults import deployment

os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


@pytest.fixture(autouse=True)
def chosen(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nodes of all deployments compute with."""
    monkeypatch.setattr(deployment, "SPARK_OF_NODES", str(request.config.getoption("--spark-of-nodes")))


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    from auroral.engine.session import start_session

    session = start_session()
    yield session
    session.stop()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seeds", default="0..4", help="random schedules, as in 0..4")
    parser.addoption("--spark-of-nodes", default="shared", help="shared, own, local[N] or spark://HOST:PORT")
    parser.addoption("--seconds", type=float, default=40.0, help="how long things fail in a random schedule")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        first, _, last = str(metafunc.config.getoption("--seeds")).partition("..")
        metafunc.parametrize("seed", range(int(first), int(last or first) + 1))
