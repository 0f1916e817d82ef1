"""Sessions of their own for small and for large jobs, beside the caller's and on the same Spark."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from auroral.engine.session import LARGE_PATH, SMALL_PATH, is_remote, lane, lent

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SHARED = threading.RLock()
"""A Spark Connect client has one session for all: views, functions and settings are one job's at a time."""


@dataclass(slots=True)
class Lanes:
    """`large_settings` are for large jobs, besides those that these always have."""

    session: SparkSession
    large_settings: Mapping[str, str] = field(default_factory=dict)
    _small: SparkSession | None = None
    _large: SparkSession | None = None

    @contextmanager
    def small(self) -> Iterator[SparkSession]:
        if is_remote(self.session):
            with _SHARED, lent(self.session, SMALL_PATH):
                yield self.session
        else:
            self._small = self._small or lane(self.session, SMALL_PATH)
            yield self._small

    @contextmanager
    def large(self) -> Iterator[SparkSession]:
        settings = {**LARGE_PATH, **self.large_settings}
        if is_remote(self.session):
            with _SHARED, lent(self.session, settings):
                yield self.session
        else:
            self._large = self._large or lane(self.session, settings)
            yield self._large
