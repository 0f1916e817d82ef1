"""Large jobs are interpreted, in all modules here."""

from __future__ import annotations

import pytest

from auroral.engine.session import LARGE_PATH
from engine.interpreted import GENERATED, INTERPRETED


@pytest.fixture(scope="module", autouse=True)
def interpreted_everywhere(interpreted: None) -> None:
    """See `interpreted`."""


@pytest.fixture
def generated_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large jobs as they are outside the tests."""
    for key in INTERPRETED:
        monkeypatch.delitem(LARGE_PATH, key, raising=False)
    for key, value in GENERATED.items():
        monkeypatch.setitem(LARGE_PATH, key, value)
