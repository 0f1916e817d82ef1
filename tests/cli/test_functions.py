"""Functions for Borealis files from the command line, as far as no Spark is needed."""

import json
from pathlib import Path

import pytest

from auroral.model import aggregates
from auroral.model.expression import functions
from cli.conftest import Call

ROADS = """
<borealis>
  <schema name="Report"><field name="Sec" type="int"/><field name="Speed" type="int"/></schema>
  <input stream="Reports" schema="Report"/>
  <output stream="Jams"/>
  <query name="Roads">
    <box name="minutes" type="map">
      <in stream="Reports"/><out stream="timed"/>
      <parameter name="expression.0" value="Sec"/><parameter name="output-field-name.0" value="Sec"/>
      <parameter name="expression.1" value="LRSecToMin(Sec)"/><parameter name="output-field-name.1" value="Minute"/>
    </box>
    <box name="jams" type="aggregate">
      <in stream="timed"/><out stream="Jams"/>
      <parameter name="aggregate-function.0" value="LRJam(Minute)"/>
      <parameter name="window-size-by" value="VALUES"/><parameter name="window-size" value="60"/>
      <parameter name="advance" value="60"/><parameter name="order-by" value="FIELD"/>
      <parameter name="order-on-field" value="Sec"/>
      <parameter name="independent-window-alignment" value="1"/>
    </box>
  </query>
</borealis>
"""
FUNCTIONS = """
import auroral

@auroral.function("int -> int")
def LRSecToMin(sec):
    return None if sec is None else sec // 60

auroral.aggregate_function(
    "LRJam", init=lambda: 0, incr=lambda n, minute: n + 1, final=lambda n: n, combine=lambda a, b: a + b, returns="long"
)
"""


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is gone after it."""
    monkeypatch.setattr(functions, "_default", functions.default_functions())
    monkeypatch.setattr(aggregates, "_registered", known := dict(aggregates.REGISTERED))
    monkeypatch.setattr(aggregates, "REGISTERED", known)
    monkeypatch.setattr("auroral.commands.programs.REGISTERED", known)


@pytest.fixture
def roads(tmp_path: Path) -> Path:
    (tmp_path / "roads.xml").write_text(ROADS)
    (tmp_path / "roads.py").write_text(FUNCTIONS)
    return tmp_path / "roads.xml"


def test_without_its_functions_a_file_loads_and_says_how_to_give_them(auroral: Call, roads: Path) -> None:
    ended = auroral("check", roads)
    assert ended.code == 0
    assert "fine, but does not run yet" in ended.out
    assert "the function 'lrsectomin' is not built in" in ended.out
    assert "register_function" in ended.out and "--functions" in ended.out
    assert auroral("explain", roads).code == 0
    run = auroral("run", roads, "--input", "reports=reports.csv")
    assert run.code == 1
    assert "does not run yet" in run.err and "--functions" in run.err


def test_with_its_functions_it_runs(auroral: Call, roads: Path) -> None:
    ended = auroral("check", roads, "--functions", "roads.py", "--json")
    (found,) = json.loads(ended.out)["results"]
    assert (ended.code, found["runs"], found["blockers"]) == (0, True, [])
    explained = auroral("explain", roads, "--functions", "roads.py")
    assert explained.code == 0 and "lrsectomin" in explained.out


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("none.py", "x = 1", "registers no function"),
        ("broken.py", "def (", "this is not Python"),
        ("raises.py", "1 / 0", "the program stops with ZeroDivisionError"),
        ("wrong.py", "import auroral\nauroral.register_function('max', max, 'int', 'int')", "'max' is built in"),
        ("roads.xml", None, "this is not Python"),
        ("missing.py", None, "missing.py cannot be read"),
    ],
)
def test_wrong_files_are_refused(auroral: Call, roads: Path, name: str, text: str | None, said: str) -> None:
    if text is not None:
        (roads.parent / name).write_text(text)
    ended = auroral("check", roads, "--functions", name)
    assert ended.code == 1
    assert said in ended.err and "next: " in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.spark
def test_a_run_keeps_its_functions(shared: Call, process: Call, roads: Path) -> None:
    rows = roads.parent / "reports.csv"
    rows.write_text("SEC,speed\n" + "".join(f"{sec},{sec % 90}\n" for sec in range(0, 300, 7)))
    given = ("--input", "reports=reports.csv", "--output", "jams=jams.csv", "--folder", "run")
    ended = shared("run", roads, "--functions", "roads.py", *given)
    assert ended.code == 0, ended.err
    assert [line.split(",")[-1] for line in (roads.parent / "jams.csv").read_text().split()] == ["agg_0", *"9989"]
    # Without the files that they came from, in a process that has not seen them: what verifying loads, resuming loads too.
    (roads.parent / "roads.py").unlink()
    roads.unlink()
    verified = process("verify", "run")
    assert verified.code == 0, verified.out


def test_a_resumed_run_has_its_functions(auroral: Call) -> None:
    ended = auroral("run", "--resume", "somewhere", "--functions", "roads.py")
    assert ended.code == 2
    assert "leave --functions out" in ended.err
