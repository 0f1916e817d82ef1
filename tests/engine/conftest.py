"""Large jobs without generated code: compiling Java for each of some hundred plans would take most of the tests' time.

What generated code gives is compared in `test_sessions`, for some diagrams in `test_equivalence`, and for all with
HYPOTHESIS_PROFILE=long.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from auroral.engine.session import LARGE_PATH, SMALL_PATH

_GENERATED = {key: LARGE_PATH[key] for key in LARGE_PATH.keys() & SMALL_PATH.keys()}


@pytest.fixture(scope="module", autouse=True)
def interpreted() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if os.environ.get("HYPOTHESIS_PROFILE") != "long":
            for key in _GENERATED:
                patch.setitem(LARGE_PATH, key, SMALL_PATH[key])
        yield


@pytest.fixture
def generated_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large jobs as they are outside the tests."""
    for key, value in _GENERATED.items():
        monkeypatch.setitem(LARGE_PATH, key, value)
