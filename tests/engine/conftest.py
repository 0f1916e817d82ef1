"""Large jobs without generated code: compiling Java for each of some hundred plans would take most of the tests' time.

What generated code gives is compared in `test_sessions`, and here with HYPOTHESIS_PROFILE=long.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from auroral.engine.session import LARGE_PATH, SMALL_PATH


@pytest.fixture(scope="module", autouse=True)
def interpreted() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if os.environ.get("HYPOTHESIS_PROFILE") != "long":
            for key in LARGE_PATH.keys() & SMALL_PATH.keys():
                patch.setitem(LARGE_PATH, key, SMALL_PATH[key])
        yield
