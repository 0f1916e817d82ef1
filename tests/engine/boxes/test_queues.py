"""Update queues on Spark, of every kind, with and without boxes behind them that mind the order of rows."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.stateless import Union
from auroral.model.diagram import Box, QueueOptions
from auroral.model.windows import Landmark
from engine.running import checked_diagram, rows, run_all

pytestmark = pytest.mark.spark


def test_every_kind(spark: Any, tmp_path: Path) -> None:
    random = Random(5)
    given = rows(
        *(
            (stime, random.choice([None, 0.0, -0.0, 1.5, float("nan")]), random.choice("ab"), n)
            for n, stime in enumerate(sorted(random.randrange(-20, 50) for _ in range(80)))
        )
    )
    boxes = []
    for kind in range(1, 9):
        options = QueueOptions(True, kind, "k, g" if kind % 2 else "k")
        boxes.append(Box(f"q{kind}", Union(), ("s",), (f"q{kind}",), queue=options))
        told = Aggregate((("last", "lastval(n)"), ("first", "firstval(n)"), ("n", "count()")), Landmark())
        boxes.append(Box(f"told{kind}", told, (f"q{kind}",), (f"told{kind}",)))
    checked = checked_diagram({"s": "k double, g string, n int"}, boxes)
    outcome = run_all(spark, tmp_path, checked, {"s": given}, 50)
    assert {reason for _, reason in outcome.ledger} == {"superseded"} and len(outcome.ledger) == 8
