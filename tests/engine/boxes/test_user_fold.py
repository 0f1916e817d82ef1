"""Users' boxes that keep a state, on Spark and in the reference: by key, over several inputs, with times that are due."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from auroral.engine.compile import Compiler
from auroral.engine.fold import Arrived, folded
from auroral.engine.foldboxes import fold_box
from auroral.extend import Fold, FoldRow, Schema, SchemaLike
from auroral.model.boxes.user import own_type
from auroral.model.diagram import Box
from engine.running import checked_diagram, rows, run_all

N = 120


def pairs() -> Fold:
    """A class within a function: Spark's workers, which do not have the tests, get it by value, as one of a program."""

    @dataclass(frozen=True)
    class Pairs(Fold):
        """Rows of the first input with the last of the second, and how many there were; a key is given up after a while."""

        after: int

        inputs = 2

        def schema(self, asked: Schema, told: Schema) -> SchemaLike:
            return {"k": asked["k"], "v": "double", "seen": "int", "at": "timestamp"}

        def key(self) -> tuple[str, ...]:
            return ("k",)

        def row(self, state: Any, row: FoldRow) -> Any:
            seen, last, _ = state or (0, None, 0)
            if row.port == 1:
                return (seen, row["v"], row.stime), []
            found = {"k": row["k"], "v": last, "seen": seen + 1, "at": row["at"]}
            return (seen + 1, last, row.stime), [found] * (1 + row.stime % 2)

        def due(self, state: Any) -> int:
            last: int = state[2]
            return last + self.after

        def timeout(self, state: Any, key: tuple[Any, ...], stime: int) -> Any:
            return None, [{"k": key[0], "v": None, "seen": -state[0], "at": None}]

    return Pairs(7)


FIELDS = "k double, v double, at timestamp"
KEYS = [0.0, -0.0, float("nan"), None, 1.5]


@pytest.mark.spark
def test_spark_and_the_reference_agree_however_ranges_are_cut(spark, tmp_path):
    folding = pairs()
    box = Box("pairs", own_type(type(folding)).with_box(folding), ("asked", "told"), ("pairs",))
    checked = checked_diagram({"asked": FIELDS, "told": FIELDS}, [box])
    asked = rows(*((i // 2, KEYS[i * 7 % 5], i / 4, i * 1_000_000) for i in range(N)))
    told = rows(*((i, KEYS[i * 3 % 5], i / 8, None) for i in range(0, N // 2, 3)))
    outcome = run_all(spark, tmp_path, checked, {"asked": asked, "told": told}, 80)
    found = outcome.outputs["pairs"]
    given_up, paired = [row for row in found if row[3] < 0], [row for row in found if row[3] > 0]
    assert given_up and any(row[2] is not None for row in paired)
    # Zeros of both signs are one key, whose rows are counted together; which a result has is that of its row.
    assert {repr(row[1]) for row in paired} == {"0.0", "-0.0", "nan", "None", "1.5"}
    assert {repr(row[1]) for row in given_up} <= {"0.0", "nan", "None", "1.5"}


@dataclass(frozen=True)
class Odd(Fold):
    """Does one thing that it must not: that of this number in `GIVES`."""

    which: int

    def schema(self, rows: Schema) -> SchemaLike:
        return "n long"

    def row(self, state: Any, row: FoldRow) -> Any:
        assert isinstance(row["at"], datetime)
        return GIVES[self.which][0]

    def due(self, state: Any) -> Any:
        return state if isinstance(state, int) else None

    def timeout(self, state: Any, key: tuple[Any, ...], stime: int) -> Any:
        raise ValueError("out of order")


GIVES: list[tuple[Any, str]] = [
    (None, "row gave None; it is to give a pair"),
    ((None, {"n": 1}), "write a list of dicts"),
    ((None, None), "[] for none"),
    ((None, [{"m": 1}]), "a result is a dict with n"),
    ((None, [{"n": "many"}]), "which is not of type long"),
    ((5, []), "due gave 5 after row at 5; allowed: None, or a later stime"),
    ((6, []), "out of order"),
    (([datetime(2026, 3, 1, tzinfo=UTC)], []), "a fold's state has a datetime in it"),
]


@pytest.mark.parametrize("which", range(len(GIVES)))
def test_what_a_box_must_not_give_is_said_with_its_name(which):
    """It raises what a worker of Spark's would: with the box and the method, between the marks that the engine looks for."""
    box = Box("odd", own_type(Odd).with_box(Odd(which)), ("s",), ("o",))
    checked = checked_diagram({"s": FIELDS}, [box])
    compiler = Compiler(checked, single=True, batch=False)
    compiler._needs()
    made = fold_box(checked.boxes[0], compiler)
    assert made is not None

    def run():
        list(folded(made.fold, (), None, [Arrived(0, 5, (1,), (1.0, 2.0, 3))], 10))
        made.fold.state()

    with pytest.raises(RuntimeError) as caught:
        run()
    assert GIVES[which][1] in str(caught.value) and "box 'odd': " in str(caught.value)
