"""A function that was mended goes on in the same run: stored, and noted from which stime on it holds."""

import os
import pickle
import re
import subprocess
import sys
import threading
import uuid
from collections import deque
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyspark.sql.functions import col, udf
from pyspark.sql.types import IntegerType

import auroral
from auroral.model.checking import Checked
from auroral.node import storeddiagram
from auroral.node.functionwords import function_words
from auroral.node.runfolder import RunFolder, RunFolderError
from auroral.node.runner import Runner
from auroral.node.storeddiagram import load_diagram, pickled, replaced_notes
from node.running import B, PassOn, rows

FACTOR = 2


def scaled(value: int) -> int:
    return value * FACTOR


def checked(function: Callable[..., Any], condition: str = "v >= 0") -> Checked:
    d = auroral.diagram("d", bucket="1s")
    s = d.input("s0", "ts long, v long", stime="ts", unit="us").filter("f", condition)
    s.apply("g", function, schema="ts long, v long").output("out")
    return d.check()


def first(df: Any) -> Any:
    return df.where("1 / 0 > 1")


def mended(df: Any) -> Any:
    return df.where("v > 1")


def applied(helper: Callable[[Any], Any]) -> Checked:
    """Diagrams with the same words, whatever the function in them calls."""
    return checked(lambda df: helper(df))


def begun(folder: Path) -> None:
    runner = Runner(RunFolder.claim(folder, applied(first), {}, {}, False), PassOn)
    runner.sources["s0"].take(rows(1.5, 2.5, 3.5), 0)
    runner.request_stop()
    runner.run()


def test_what_cannot_be_stored_any_more_goes_on_as_it_was_stored(tmp_path: Path) -> None:
    """As Spark's udf, once it was called in the same process."""
    held: list[Any] = []
    diagram = checked(lambda df: df if held else df.where("v > 1"))
    RunFolder.claim(tmp_path / "run", diagram, {}, {}, False).close()
    stored = (tmp_path / "run/diagram.pickle").read_bytes()
    with pytest.MonkeyPatch.context() as patch:

        def refuse(_: Checked) -> bytes:
            raise RunFolderError("cannot be stored")

        patch.setattr(storeddiagram, "pickled", refuse)
        RunFolder.claim(tmp_path / "run", diagram, {}, {}, False).close()
    assert (tmp_path / "run/diagram.pickle").read_bytes() == stored


@pytest.mark.spark
def test_columns_that_a_function_holds_count(spark: Any) -> None:
    def words(column: Any) -> str:
        return function_words(checked(lambda df: df.where(column)))

    assert words(col("v") > 3) == words(col("v") > 3) != words(col("v") > 4)


def test_a_mended_function_is_stored_with_the_stime_from_which_it_holds(tmp_path: Path) -> None:
    begun(tmp_path / "run")
    with RunFolder.claim(tmp_path / "run", applied(mended), {}, {}, False):
        pass
    (note,) = replaced_notes(tmp_path / "run")
    assert f"stime {3 * B}" in note and "diagram-1.pickle" in note
    stored = load_diagram(tmp_path / "run")
    assert function_words(stored) == function_words(applied(mended))
    runner = Runner(RunFolder.claim(tmp_path / "run", stored, {}, {}, False), PassOn)
    assert note in runner.status().notes
    runner.close()
    assert len(replaced_notes(tmp_path / "run")) == 1, "the stored diagram is what it is"


def test_mending_that_was_interrupted_keeps_the_first_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(tmp_path / "run")
    before = (tmp_path / "run/diagram.pickle").read_bytes()

    def cut(*_: object, **__: object) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("auroral.node.storeddiagram.json.dumps", cut)
        with pytest.raises(KeyboardInterrupt):
            RunFolder.claim(tmp_path / "run", applied(mended), {}, {}, False)
    RunFolder.claim(tmp_path / "run", applied(mended), {}, {}, False).close()
    assert (tmp_path / "run/diagram-1.pickle").read_bytes() == before
    assert len(replaced_notes(tmp_path / "run")) == 1


@pytest.mark.parametrize("before", ["diagram.pickle", "diagrams.json"])
def test_mending_that_was_interrupted_and_taken_back_leaves_what_was(
    before: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(tmp_path / "run")
    replace = storeddiagram.replace_file

    def cut(path: Path, content: bytes) -> None:
        if path.name == before:
            raise KeyboardInterrupt
        replace(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(storeddiagram, "replace_file", cut)
        with pytest.raises(KeyboardInterrupt):
            RunFolder.claim(tmp_path / "run", applied(mended), {}, {}, False)
    RunFolder.claim(tmp_path / "run", applied(first), {}, {}, False).close()
    assert function_words(load_diagram(tmp_path / "run")) == function_words(applied(first))
    assert replaced_notes(tmp_path / "run") == []
    assert not list((tmp_path / "run").glob("diagram-*"))


def test_the_same_functions_leave_no_note(tmp_path: Path) -> None:
    begun(tmp_path / "run")
    for again in (applied(first), load_diagram(tmp_path / "run")):
        RunFolder.claim(tmp_path / "run", again, {}, {}, False).close()
    assert function_words(load_diagram(tmp_path / "run")) == function_words(applied(first))
    assert replaced_notes(tmp_path / "run") == []
    assert not list((tmp_path / "run").glob("diagram-*"))


def test_what_is_stored_is_what_the_run_goes_on_with_whatever_its_words_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(tmp_path / "run")
    with monkeypatch.context() as patch:
        known = function_words(applied(first))
        patch.setattr(storeddiagram, "function_words", lambda _: known)
        RunFolder.claim(tmp_path / "run", applied(mended), {}, {}, False).close()
    assert function_words(load_diagram(tmp_path / "run")) == function_words(applied(mended))


def held(value: Any) -> Checked:
    return applied(lambda df: df.where(str(value)))


def long_pattern(end: str) -> re.Pattern[str]:
    return re.compile("a" * 300 + end)


DATA: dict[str, Callable[[int], Any]] = {
    "array": lambda n: np.array([0] * 2000 + [n] + [0] * 2000),
    "a part of an array": lambda n: np.array([[n, 0]] * 2000)[:, 0],
    "frame": lambda n: pd.DataFrame({"a": [0] * 2000 + [n] + [0] * 2000, "b": "x"}),
    "pattern": lambda n: long_pattern(str(n)),
    "method of a pattern": lambda n: long_pattern(str(n)).match,
    "in a set": lambda n: {long_pattern(str(n)), "b"},
    "as a key": lambda n: {("a", long_pattern(str(n))): 1},
    "enum": lambda n: Enum("Some", {"PATTERN": long_pattern(str(n))}),
    "decimal": lambda n: Decimal(n),
    "queue": lambda n: deque([n]),
    "udf": lambda n: udf(lambda x: x + n, IntegerType()),
}


@pytest.mark.parametrize("kind", DATA)
def test_data_that_a_function_holds_counts_in_full(kind: str) -> None:
    before, same, other = held(DATA[kind](1)), held(DATA[kind](1)), held(DATA[kind](2))
    assert function_words(before) == function_words(same) != function_words(other)
    assert function_words(pickle.loads(pickled(before))) == function_words(before), "as a run's folder gives it back"


def test_a_method_of_built_in_data_counts_with_its_data() -> None:
    words = {
        function_words(checked(method)) for method in (long_pattern("1").match, long_pattern("2").match, {1: 2}.get)
    }
    assert len(words) == 3
    assert function_words(checked(long_pattern("1").match)) in words


def test_mended_data_is_stored_and_noted(tmp_path: Path) -> None:
    RunFolder.claim(tmp_path / "run", held(DATA["array"](1)), {}, {}, False).close()
    RunFolder.claim(tmp_path / "run", held(DATA["array"](2)), {}, {}, False).close()
    assert function_words(load_diagram(tmp_path / "run")) == function_words(held(DATA["array"](2)))
    assert (tmp_path / "run/diagram-1.pickle").exists()


def test_what_cannot_be_told_apart_counts_as_mended(tmp_path: Path) -> None:
    odd = type("Odd", (), {"__module__": "elsewhere", "__reduce__": lambda _: (str, (uuid.uuid4().hex,))})
    for _ in range(3):
        RunFolder.claim(tmp_path / "run", held(odd()), {}, {}, False).close()
    assert (tmp_path / "run/diagram-2.pickle").exists()


def test_a_handle_is_told_by_its_name_alone() -> None:
    assert function_words(held(threading.Lock())) == function_words(held(threading.Lock()))


def test_other_words_are_refused_and_the_error_says_what_is_possible(tmp_path: Path) -> None:
    begun(tmp_path / "run")
    with pytest.raises(RunFolderError, match=r"(?s)another diagram.*next: .*only functions may be mended"):
        RunFolder.claim(tmp_path / "run", checked(mended, "v > 5"), {}, {}, False)


def test_words_of_functions_follow_what_they_do_and_not_where_they_stand() -> None:
    def one(df: Any) -> Any:
        return scaled(df)

    same = [function_words(checked(one)), function_words(checked(one))]
    assert same[0] == same[1]
    limit = 5
    assert function_words(checked(lambda df: df.limit(limit))) == function_words(checked(lambda df: df.limit(limit)))
    other = 6
    assert function_words(checked(lambda df: df.limit(limit))) != function_words(checked(lambda df: df.limit(other)))
    assert function_words(checked(lambda df: df.limit(5))) != function_words(checked(lambda df: df.limit(6)))


def test_functions_that_are_called_count_too(monkeypatch: pytest.MonkeyPatch) -> None:
    before = function_words(checked(lambda df: scaled(df)))
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 3)
    assert function_words(checked(lambda df: scaled(df))) != before


def test_the_names_of_methods_are_not_those_of_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what a function reads is stored with it, so that only that may count."""
    before = function_words(checked(lambda df: df.scaled(1)))
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 3)
    assert function_words(checked(lambda df: df.scaled(1))) == before


CODE = """
import functools
from dataclasses import dataclass

class Base:
    def limit(self):
        return BASE

class Called(Base):
    __slots__ = ("factor",)
    def __init__(self, factor):
        self.factor = factor
    def __call__(self, df):
        return df.where("v > METHOD").limit(self.shown + self.fixed(self.factor))
    @property
    def shown(self):
        return PROPERTY
    @staticmethod
    def fixed(n):
        return n * STATIC

@dataclass
class Data:
    factor: int
    def __call__(self, df):
        return df.where("v > METHOD").limit(self.factor)

def decorated(function):
    @functools.wraps(function)
    def around(df):
        return HELD[0](df)
    HELD = (function,)
    return around

@decorated
def wrapped(df):
    return df.limit(WRAPPED)

@functools.lru_cache
def cached(df):
    return df.limit(CACHED)

CYCLE = {"factor": FACTOR}
CYCLE["me"] = [CYCLE]

def uses_class(df):
    return Called(FACTOR)(df)

def uses_cycle(df):
    return df.limit(CYCLE["factor"])

called, data = Called(FACTOR), Data(FACTOR)
method = called.__call__
partial = functools.partial(uses_class)
"""
VALUES = {"BASE": 1, "METHOD": 2, "PROPERTY": 3, "STATIC": 4, "CACHED": 5, "WRAPPED": 6, "FACTOR": 7}
USED = {
    "called": {"BASE", "METHOD", "PROPERTY", "STATIC", "FACTOR"},
    "method": {"BASE", "METHOD", "PROPERTY", "STATIC", "FACTOR"},
    "uses_class": {"BASE", "METHOD", "PROPERTY", "STATIC", "FACTOR"},
    "partial": {"BASE", "METHOD", "PROPERTY", "STATIC", "FACTOR"},
    "data": {"METHOD", "FACTOR"},
    "wrapped": {"WRAPPED"},
    "cached": {"CACHED"},
    "uses_cycle": {"FACTOR"},
}


def words_of(name: str, values: dict[str, int], stored: bool = False) -> str:
    """The words of one function of a program with these values, also as a run's folder gives it back."""
    code = CODE
    for word, value in values.items():
        code = code.replace(word, str(value))
    program: dict[str, Any] = {"__name__": "a_program"}
    exec(code, program)
    found = checked(program[name])
    return function_words(pickle.loads(pickled(found)) if stored else found)


@pytest.mark.parametrize("name", USED)
def test_code_counts_wherever_it_stands(name: str) -> None:
    before = words_of(name, VALUES)
    assert words_of(name, VALUES) == before
    changed = {word for word in VALUES if words_of(name, VALUES | {word: 100}) != before}
    assert changed == USED[name]


# What is cached can be stored by its name alone.
@pytest.mark.parametrize("name", sorted(set(USED) - {"cached"}))
def test_a_stored_function_has_the_words_that_it_had(name: str) -> None:
    assert words_of(name, VALUES, stored=True) == words_of(name, VALUES)


PROGRAM = """
import re
import sys
import numpy as np
import pandas as pd
import auroral
from auroral.node import storeddiagram
from auroral.node.functionwords import function_words

TABLES = np.arange(5000), pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}), re.compile("a" * 300)
NAMES = {"v", "w", "x"}

def helper(df):
    return df.where(f"v in (1, 2, {TABLES[0][0]})") if "v" in {"v", "w", "x"} | NAMES else df

d = auroral.diagram("d", bucket="1s")
s = d.input("s0", "ts long, v long", stime="ts", unit="us")
s.apply("g", lambda df: helper(df), schema="ts long, v long").output("out")
sys.stdout.write(function_words(d.check()))
"""


def test_words_of_functions_are_the_same_in_every_process() -> None:
    found = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1 and found != {""}
