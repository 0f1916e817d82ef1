"""Sessions of their own for small and for large jobs, beside the caller's and on the same Spark."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from auroral.engine.session import COMPILED_EXPRESSIONS, LARGE_PATH, SMALL_PATH, is_remote, lane, lent

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SHARED = threading.RLock()
"""A Spark Connect client has one session for all: views, functions and settings are one job's at a time."""


@dataclass(slots=True)
class Lanes:
    """`large_settings` are for large jobs, besides those that these always have."""

    session: SparkSession
    large_settings: Mapping[str, str] = field(default_factory=dict)
    _lanes: dict[str, SparkSession] = field(default_factory=dict)

    def small(self) -> AbstractContextManager[SparkSession]:
        return self._lane("small", SMALL_PATH)

    def middle(self) -> AbstractContextManager[SparkSession]:
        return self._lane("compiled", {**SMALL_PATH, **COMPILED_EXPRESSIONS})

    def large(self) -> AbstractContextManager[SparkSession]:
        return self._lane("large", {**LARGE_PATH, **self.large_settings})

    @contextmanager
    def _lane(self, name: str, settings: Mapping[str, str]) -> Iterator[SparkSession]:
        if is_remote(self.session):
            with _SHARED, lent(self.session, settings):
                yield self.session
        else:
            if name not in self._lanes:
                self._lanes[name] = lane(self.session, settings)
            yield self._lanes[name]
