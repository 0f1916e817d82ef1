"""What an experiment found: a table, plots, and every published statement beside what was measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Statement:
    """What was published of the original system, and what is so here; `why` where the two differ."""

    published: str
    measured: str
    holds: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    name: str
    points: tuple[tuple[float, float], ...]
    tentative: tuple[bool, ...] = ()
    """Which points are of tentative results, where that is told apart."""


@dataclass(frozen=True, slots=True)
class Plot:
    title: str
    x: str
    y: str
    series: tuple[Series, ...]
    bound: tuple[tuple[float, float], ...] = ()
    """The line of X."""


@dataclass(frozen=True, slots=True)
class Experiment:
    name: str
    title: str
    setting: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    statements: tuple[Statement, ...]
    plots: tuple[Plot, ...]
