"""Linear Road for tests: the diagram as the command line loads it, small roads, and what the rules say of them."""

from __future__ import annotations

import runpy
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from examples.linear_road.generator import Traffic, traffic

from applications.linear_road_oracle import Road
from auroral.model.builder import DiagramBuilder

FILE = Path(__file__).parents[2] / "examples" / "linear_road" / "linear_road.py"
SECOND = timedelta(seconds=1)
PUBLISHED = {"report": 30 * SECOND, "minute": 60 * SECOND, "crowd": 50, "fast": 40.0, "warned": 4}
SMALL = {"report": 2 * SECOND, "minute": 4 * SECOND, "crowd": 2, "fast": 40.0, "warned": 4}
"""The same rules where a minute lasts four seconds, and three cars are a crowd."""
FEW = Traffic(report=SMALL["report"], reports=22, jam=12, others=3, requests=30)


def small_diagram() -> DiagramBuilder:
    # As a program: its functions go to other processes by value.
    defined = runpy.run_path(str(FILE), run_name="__auroral__")
    made: DiagramBuilder = defined["diagram"](defined["Rules"](**SMALL))
    return made


def told(given: Traffic, rules: Mapping[str, Any]) -> dict[str, Counter[tuple[Any, ...]]]:
    """What the rules say, by output."""
    rows = traffic(given)
    answers = Road(**rules).drive(rows["north"] + rows["south"], rows["requests"])
    return {name: Counter(getattr(answers, name)) for name in ("tolls", "alerts", "balances")}


def counted(rows: Iterable[Mapping[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(value for name, value in row.items() if name != "stime") for row in rows)
