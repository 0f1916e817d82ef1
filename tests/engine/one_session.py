"""Run as a program: a small diagram on the Spark at the address given, its outcome on standard output as JSON.

A process of its own for each address: a Python process can hold a classic session or a remote one, not both.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import auroral
from auroral.engine.evaluate import Limits
from auroral.engine.lanes import Lanes
from auroral.engine.session import PARTITIONS, start_session
from auroral.model.aggregates import aggregate_function
from auroral.model.checking import Checked
from auroral.model.expression import Functions
from auroral.model.expression.functions import make_function
from engine.evaluators import Outcome, by_batch, by_buckets
from engine.interpreted import interpret_large_jobs
from engine.running import rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEYS = ["a", "b", "ß"]
CUTS = [0, 20, 60]
UNTIL = CUTS[-1]
PARTITIONS_CHOSEN = 2
SOURCES = {
    "left": rows(*((i, i, KEYS[i % 3], 0.1 * i) for i in range(0, 50, 2))),
    "right": rows(*((i, i, KEYS[i % 2], 1e300 if i == 9 else float(i)) for i in range(0, 50, 3))),
}
SWAPPED = {"left": SOURCES["right"], "right": SOURCES["left"]}


def small_diagram() -> Checked:
    """A step of each sort: SQL, slices, join history, a fold, user code in workers, a function of DataFrames."""

    def joined(state: str, key: str) -> str:
        return state + key

    aggregate_function("spelled", init=lambda: "", incr=joined, final=lambda state: state, returns="string")

    def whole(number: float) -> int:
        if not number.is_integer():
            raise ValueError(f"{number} is not whole")
        return int(number)

    functions = Functions().plus(make_function("shout", lambda text: text.upper() + "!", "string", "string"))
    functions = functions.plus(make_function("whole", whole, "double", "long"))
    d = auroral.diagram("sessions", bucket="20us")
    left = d.input("left", "t long, k string, x double", stime="t", unit="us")
    right = d.input("right", "t long, k string, x double", stime="t", unit="us")
    both = left.union("both", right)
    both.aggregate("windows", {"n": "count()", "s": "sum(x)"}, window="25us", advance="5us", by=["k"]).output()
    both.filter("some", "x > 1.0").running("total", {"s": "sum(x)", "m": "max(x)"}, by=["k"]).output()
    both.aggregate("words", {"w": "spelled(k)"}, window="20us").output()
    columns = {"k": "shout(left.k)", "gap": "left.x - right.x"}
    left.join("pairs", right, on="left.k = right.k", within="7us", columns=columns, how="left").output()
    numbers = left.map("numbers", {"n": "if x >= 0.0 then whole(x) else 0"}, on_error="reject")
    numbers.output()
    numbers.errors().output()
    left.apply("top", lambda frame: frame.groupBy("k").max("x").toDF("k", "x"), schema="k string, x double").output()
    return d.check(functions)


def main(address: str, folder: Path, *ways: str) -> None:
    # Generated code does not depend on the address, and is tried in the tests' own session, which is warm.
    interpret_large_jobs()
    spark = start_session(address, memory="1g", partitions=PARTITIONS_CHOSEN)
    found = outcomes(spark, folder, ways)
    spark.stop()
    sys.stdout.write(json.dumps(found) + "\n")


WAYS = ("small", "swapped", "large", "batch")


def outcomes(spark: SparkSession, folder: Path, ways: Sequence[str] = WAYS) -> dict[str, dict[str, Any]]:
    checked = small_diagram()
    before = spark.conf.getAll
    made: dict[str, Callable[[], Outcome]] = {
        "small": lambda: by_buckets(spark, checked, SOURCES, CUTS, folder / "small"),
        "swapped": lambda: by_buckets(spark, checked, SWAPPED, CUTS, folder / "swapped"),
        "large": lambda: by_buckets(spark, checked, SOURCES, [0, UNTIL], folder / "large", limits=Limits(0, 0)),
        "batch": lambda: by_batch(spark, checked, SOURCES, UNTIL, folder / "batch"),
    }
    # Two engines at once on one session, each with rows of its own, must not see one another's.
    with ThreadPoolExecutor(2) as threads:
        together = {way: threads.submit(made[way]) for way in ways if way in ("small", "swapped")}
    found = {way: together[way].result() if way in together else made[way]() for way in ways}
    assert spark.conf.getAll == before, "settings for jobs were left behind"
    with Lanes(spark).large() as large:
        chosen = large.conf.get(PARTITIONS)
        assert chosen == str(PARTITIONS_CHOSEN), "large jobs must not have the one partition of small ones"
    return {name: as_json(outcome) for name, outcome in found.items()}


def as_json(outcome: Outcome) -> dict[str, Any]:
    return {name: [list(map(_text, row)) for row in given] for name, given in outcome.outputs.items()}


def _text(value: Any) -> Any:
    return value.hex() if isinstance(value, float) else value


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
