"""`auroral simulate dpc --diagram`: a user's diagram and deployment, rows of files or drawn ones, and all that can be wrong with them."""

from __future__ import annotations

import io
import json
import shlex
import sys
from pathlib import Path

import pytest

from auroral.commands import trials
from auroral.commands.trials import Asked, Trials
from auroral.model.expression import functions
from auroral.sim import diagrams

JOIN = """
import auroral

orders = auroral.diagram("orders", bucket="500ms")
placed = orders.input("placed", "ts timestamp, id int, item string(4), price single", stime="ts")
paid = orders.input("paid", "ts timestamp, id int, ok bool", stime="ts")
with orders.query("clean"):
    dear = placed.filter("dear", "price > 0.1f")
with orders.query("match"):
    both = dear.join("both", paid, on="left.id = right.id", within="2s", columns={"item": "left.item"})
with orders.query("count"):
    both.aggregate("sold", {"n": "count()"}, by=["item"], window="2s").output(availability="3s")
"""

ODD = """
import itertools
import auroral

calls = itertools.count()


@auroral.function("int -> long")
def tick(n):
    return next(calls)


odd = auroral.diagram("odd", bucket="500ms")
rows = odd.input("rows", "sec long, n int", stime="sec", unit="s")
rows.map("ticks", {"tick": "tick(n)"}).output(availability="3s")
"""

GRID = """<borealis>
  <schema name="Reading"><field name="sec" type="int"/><field name="place" type="string" size="4"/></schema>
  <input stream="North" schema="Reading"/><input stream="South" schema="Reading"/>
  <output stream="Counts"/>
  <box name="both" type="union"><in stream="North"/><in stream="South"/><out stream="All"/></box>
  <query name="Watch">
    <box name="counts" type="aggregate"><in stream="All"/><out stream="Counts"/>
      <parameter name="aggregate-function.0" value="count()"/><parameter name="group-by" value="place"/>
      <parameter name="window-size-by" value="VALUES"/><parameter name="window-size" value="3"/>
      <parameter name="advance" value="3"/><parameter name="order-by" value="FIELD"/>
      <parameter name="order-on-field" value="sec"/><parameter name="independent-window-alignment" value="1"/>
    </box>
  </query>
</borealis>"""

DEPLOY = """<deploy>
  <replica_set name="near" query="both"><node endpoint=":15000"/><node endpoint=":15100"/></replica_set>
  <replica_set name="far" query="Watch"><node endpoint=":15200"/><node endpoint=":15300"/></replica_set>
  <publish stream="North"/><client><subscribe stream="Counts"/></client>
</deploy>"""

CSV = "sec,place\n" + "".join(f"{second},{'ab'[second % 2]}\n" for second in range(100, 112))


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them in the folder that the program runs in, and runs of about twenty seconds."""
    monkeypatch.setattr(functions, "_default", functions.default_functions())
    monkeypatch.setattr(trials, "SECONDS", (10, 12))
    monkeypatch.setattr(diagrams, "QUIET", 8.0)
    contents = {
        "join.py": JOIN,
        "odd.py": ODD,
        "grid.xml": GRID,
        "deploy.xml": DEPLOY,
        "north.csv": CSV,
        "empty.csv": "sec,place\n",
        "far.csv": "sec,place\n0,a\n1700000000,b\n",
        "lines.txt": "at 4s silence rows; at 6s resume rows",
    }
    for name, text in contents.items():
        (tmp_path / name).write_text(text, encoding="utf-8")


def given(monkeypatch: pytest.MonkeyPatch, schedule: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(schedule))


@pytest.mark.slow
def test_random_failures_of_a_windowed_join_over_drawn_rows(auroral):
    ended = auroral("simulate", "dpc", "--diagram", "join.py", "--seeds", "0..2", "--processes", "1", "--json")
    found = json.loads(ended.out)
    assert (ended.code, found["seeds"], found["violations"], found["failures"]) == (0, 3, 0, [])
    assert found["faults"] >= 15


@pytest.mark.slow
def test_an_xml_diagram_on_the_nodes_of_an_xml_deployment_with_rows_of_a_file_and_a_trace(auroral, monkeypatch):
    given(monkeypatch, "at 4s silence north; at 11s resume north; at 12s crash neara; at 14s restart neara")
    options = ["--diagram", "grid.xml", "--deploy", "deploy.xml", "--input", "North=north.csv"]
    ended = auroral("simulate", "dpc", "--seeds", "5", *options, "--schedule", "-", "--trace", "trace.txt", "--json")
    assert ended.code == 0, ended.out + ended.err
    lines = Path("trace.txt").read_text(encoding="utf-8").splitlines()
    assert any("near@neara" in line and "of all" in line for line in lines)
    assert any("far@farb" in line and "of counts" in line for line in lines)
    assert "  12.000 s  FAULT    crash neara" in lines


@pytest.mark.slow
def test_queries_are_changed_to_those_of_another_diagram(auroral, monkeypatch):
    longer = JOIN.replace('within="2s"', 'within="3s"').replace("price > 0.1f", "price > 0.2f")
    Path("longer.py").write_text(longer, encoding="utf-8")
    given(monkeypatch, "at 4s change n; at 5s crash na; at 8s restart na")
    options = ["--diagram", "join.py", "--changed", "longer.py"]
    ended = auroral("simulate", "dpc", "--seeds", "1", *options, "--schedule", "-", "--trace", "trace.txt", "--json")
    assert ended.code == 0, ended.out + ended.err
    assert "n is computed by version 1 from bucket" in Path("trace.txt").read_text(encoding="utf-8")
    assert Asked("a.py", changed="b.py").words == ["--diagram", "a.py", "--changed", "b.py"]


def test_a_diagram_that_it_cannot_be_changed_to_is_told(auroral):
    Path("other.py").write_text(JOIN.replace('"sold"', '"bought"'), encoding="utf-8")
    ended = auroral("simulate", "dpc", "--seeds", "1", "--diagram", "join.py", "--changed", "other.py")
    assert ended.code != 0 and "would give other streams" in ended.err


@pytest.mark.slow
def test_a_function_that_is_not_deterministic_is_found_and_the_replay_repeats_the_options(auroral, monkeypatch):
    """In processes of their own, to which the function cannot be sent."""
    options = ["--diagram", "odd.py", "--stime", "rows=sec:s", "--bucket", "500ms", "--bound", "4s"]
    options += ["--keep", "2min", "--while-failing", "delay"]
    ended = auroral(
        "simulate", "dpc", "--seeds", "1..2", *options, "--processes", "2", "--schedule", "lines.txt", "--json"
    )
    assert ended.code == 1, ended.err
    failures = json.loads(ended.out)["failures"]
    assert [failure["seed"] for failure in failures] == [1, 2]
    for failure in failures:
        assert {"stable_is_right", "replicas_agree"} <= {said.split(":")[0] for said in failure["violations"]}
        assert failure["shortest"] == ""
    echo, schedule, pipe, program, *replayed = shlex.split(failures[0]["replay"])
    assert (echo, pipe, program) == ("echo", "|", "auroral")
    assert replayed == ["simulate", "dpc", "--seeds", "1", *options, "--schedule", "-"]
    given(monkeypatch, schedule)
    assert auroral(*replayed).code == 1


def test_rows_are_drawn_from_the_seed_by_the_schema(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make = Trials(Asked("join.py"))
    one, again, other = make(1), make(1), make(2)
    assert one.rows == again.rows != other.rows and one.faults == again.faults != other.faults
    rows = [row for content in one.rows["placed"] for row in content.rows]
    assert len(rows) > 20 and any(None in row.values for row in rows)
    assert all(row.values[0] == row.stime for row in rows)
    assert len({row.values[2] for row in rows}) < 10
    # Whatever the failures, and however long they take.
    longer = Trials(Asked("join.py", schedule="at 30s crash na; at 31s restart na"))(1)
    assert longer.buckets > one.buckets and longer.rows["paid"][: one.buckets] == one.rows["paid"]


def test_rows_of_a_file_are_those_that_a_run_would_take(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("north.csv").write_text("Sec,Place\n7,a\n,b\n8,toolong\n9,\n", encoding="utf-8")
    asked = Asked("grid.xml", inputs=(trials.InputSpec("north", "north.csv"),))
    scenario = Trials(asked)(1)
    assert [row.values for content in scenario.rows["north"] for row in content.rows] == [(7, "a"), (9, None)]
    assert scenario.rows["south"][3].count >= 0 and sum(content.count for content in scenario.rows["south"]) > 5
    assert "rows of north.csv are left out: 1 no stime, 1 too long" in capsys.readouterr().err


GRID_ALONE = ["--diagram", "grid.xml"]


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--deploy", "deploy.xml"], 2, "--deploy is about a diagram, and there is none\n    next: add --diagram FILE"),
        (["--input", "north=north.csv"], 2, "--input is about a diagram, and there is none"),
        (["--bound", "5s"], 2, "--bound is about a diagram, and there is none"),
        (["--while-failing", "delay"], 2, "--while-failing is about a diagram, and there is none"),
        ([*GRID_ALONE, "--keep", "1s"], 1, "at most 1 buckets are kept"),
        ([*GRID_ALONE, "--bound", "3s"], 1, "the bound of 3 s is too short"),
        ([*GRID_ALONE, "--input", "north=far.csv"], 1, "buckets of 1 s\n    allowed: up to 20,000"),
        (["--diagram", "nowhere.xml"], 1, "nowhere.xml cannot be read"),
        (["--diagram", "deploy.xml"], 1, "deploy.xml is a deployment"),
        (
            [*GRID_ALONE, "--deploy", "grid.xml"],
            1,
            "grid.xml is a diagram: it says what queries are, not where they run",
        ),
        (
            [*GRID_ALONE, "--input", "east=north.csv"],
            2,
            "--input: unknown input stream 'east'\n    allowed: north, south",
        ),
        ([*GRID_ALONE, "--input", "north=empty.csv"], 1, "empty.csv has no rows for input 'north'"),
        ([*GRID_ALONE, "--input", "north=nowhere.csv"], 1, "nowhere.csv cannot be read"),
        ([*GRID_ALONE, "--input", "north=-"], 2, "--input north: standard input is not for simulations"),
        ([*GRID_ALONE, "--input", "north=north.csv@2x"], 2, "--input north: a speed is not for simulations"),
        ([*GRID_ALONE, "--schedule", "lines.txt"], 1, "there is no rows; there are c, na, nb, north, south"),
    ],
)
def test_what_is_wrong_is_told(arguments, code, told, auroral):
    ended = auroral("simulate", "dpc", "--seeds", "1", *arguments)
    assert (ended.code, told in ended.err) == (code, True), ended.err


@pytest.mark.parametrize(
    ("file", "old", "new", "code", "told"),
    [
        (
            "deploy.xml",
            'query="both"',
            'query="Bath both"',
            1,
            "deploy.xml:2, replica_set 'near': unknown query 'Bath'",
        ),
        (
            "deploy.xml",
            'query="Watch"',
            "",
            1,
            "deploy.xml: query 'Watch' is on no node\n    allowed: a node or a replica set",
        ),
        ("deploy.xml", ":15000", "a b", 1, "'a b' is no endpoint"),
        ("deploy.xml", '"Counts"', '"Sums"', 1, "unknown stream 'sums'"),
        ("grid.xml", 'stream="North"', 'stream="C"', 1, "input 'c' cannot be named in a schedule"),
    ],
)
def test_what_is_wrong_in_a_file_is_told(file, old, new, code, told, auroral, tmp_path):
    path = tmp_path / file
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    if file == "grid.xml":
        (tmp_path / "deploy.xml").write_text(DEPLOY.replace('<publish stream="North"/>', ""), encoding="utf-8")
    ended = auroral("simulate", "dpc", "--seeds", "1", *GRID_ALONE, "--deploy", "deploy.xml")
    assert (ended.code, told in ended.err) == (code, True), ended.err


def test_a_file_with_several_diagrams_needs_a_name(auroral, tmp_path):
    more = JOIN + 'other = auroral.diagram("other")\n'
    (tmp_path / "join.py").write_text(more, encoding="utf-8")
    ended = auroral("simulate", "dpc", "--diagram", "join.py")
    assert ended.code == 2 and "next: choose one, for example --diagram join.py:orders" in ended.err
    ended = auroral("simulate", "dpc", "--diagram", "join.py:other")
    assert ended.code == 1 and "nothing of what is computed on 'n' comes to the client" in ended.err


def test_rows_of_a_file_need_a_time(auroral, tmp_path):
    (tmp_path / "join.py").write_text(JOIN.replace(', stime="ts")', ")"), encoding="utf-8")
    (tmp_path / "paid.csv").write_text("ts,id,ok\n2026-03-01T12:00:00Z,1,true\n", encoding="utf-8")
    ended = auroral("simulate", "dpc", "--diagram", "join.py", "--input", "paid=paid.csv")
    assert ended.code == 1 and "next: name the field that carries their time: --stime paid=FIELD" in ended.err
