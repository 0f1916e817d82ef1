"""Settings of large jobs with and without generated code, and all of Spark's planning."""

from __future__ import annotations

from auroral.engine.session import LARGE_PATH, QUICK_PLANS, SMALL_PATH

GENERATED = {key: LARGE_PATH[key] for key in LARGE_PATH.keys() & SMALL_PATH.keys()}
INTERPRETED = {**QUICK_PLANS, **{key: SMALL_PATH[key] for key in GENERATED}}


def interpret_large_jobs() -> None:
    """For the rest of this process; tests use the fixture `interpreted`."""
    LARGE_PATH.update(INTERPRETED)
