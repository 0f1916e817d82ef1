"""`auroral explain`: needs no Spark."""

import json
import sys
from inspect import signature
from pathlib import Path
from unittest.mock import MagicMock

from auroral.commands.sqlpage import sql_page
from auroral.engine.batch import run_batch
from auroral.engine.compile import compile_program
from auroral.engine.evaluate import Engine
from auroral.engine.sqltext import readable
from cli.conftest import EXAMPLES, Call
from engine.diagrams import random_case

TWO = """
import auroral

one, two = auroral.diagram("one"), auroral.diagram("two")
one.input("a", "k string, v double").running("totals", {"total": "sum(v)"}, by=["k"]).output()
two.input("a", "k string, v double").apply("same", lambda df: df, schema="k string, v double").output()
"""
TABLE = """
import auroral

d = auroral.diagram("d")
t = d.table("t", "k int", key=["k"])
a = d.input("a", "k int")
a.insert("put", t, {"k": "input.k"})
a.select("look", t, where="k = input.k").output()
"""
PARTICIPANTS = """
import auroral

acme, globex = (auroral.diagram("flows", participant=name) for name in ("acme", "globex"))
for one in (acme, globex):
    one.input("a", "v int").filter("b", "v > 1").output()
"""


def test_parts(auroral: Call) -> None:
    ended = auroral("explain", EXAMPLES / "netmon.py")
    assert ended.code == 0
    for part in ("flowchart LR", "Boxes", "Ports", "Streams", "Kept edges", "Spark SQL"):
        assert part in ended.out
    assert "-- box busy (filter: connections > 20)" in ended.out
    assert "per source@slices  partial aggregates, in slices of time  5s before the bucket" in ended.out
    assert ended.out.rstrip().endswith("FROM `alerts`")


def test_json_has_a_whole_statement_for_each_output(auroral: Call) -> None:
    ended = auroral("explain", "--json", EXAMPLES / "grid.xml")
    (found,) = json.loads(ended.out)["diagrams"]
    assert list(found["sql"]) == ["deviations"]
    assert found["sql"]["deviations"].startswith("WITH `north` AS (")
    assert {"edge": "mean@slices", "what": "partial aggregates, in slices of time", "past_us": 60_000_000} in found[
        "kept"
    ]


def test_batch_is_plain(auroral: Call) -> None:
    ended = auroral("explain", "--batch", EXAMPLES / "grid.xml")
    assert ended.code == 0
    assert "@slices" not in ended.out and ":first(" not in ended.out
    assert "-- The batch run, over all rows" in ended.out


def test_small_jobs_have_a_form_of_their_own(auroral: Call) -> None:
    large, small = (auroral("explain", *form, EXAMPLES / "netmon.py").out for form in ((), ("--small",)))
    assert "-- The form of large jobs" in large and "-- The form of small jobs" in small
    assert ":targets(per source)" in small and ":targets(" not in large
    assert "-- `per source@both` is fetched: `per source` are its rows with __l = -1" in small
    assert auroral("explain", "--small", "--batch", EXAMPLES / "netmon.py").code == 2


def test_what_is_shown_is_what_is_run(tmp_path: Path) -> None:
    many_bins = signature(run_batch).parameters["many_bins"].default
    for seed in (0, 3, 57, 82):
        checked = random_case(seed).checked
        engine = Engine(MagicMock(), checked, tmp_path)
        batch = compile_program(checked, batch=True, many_bins=many_bins)
        for form, program in {
            "small": engine.small,
            "middle": engine.middle,
            "large": engine.large,
            "batch": batch,
        }.items():
            page = sql_page(checked, form)
            for step in program.steps:
                assert all(readable(str(cte)) in page.text for cte in (*step.ctes, *step.behind))


def test_several_diagrams_folds_and_functions(auroral: Call, tmp_path: Path) -> None:
    (tmp_path / "two.py").write_text(TWO)
    both = auroral("explain", "two.py")
    assert "diagram one: class fold" in both.out and "diagram two: class window" in both.out
    assert "all of the past" in both.out and "totals@state" in both.out
    assert "`totals` is not SQL but a scan in Python, over `a`" in both.out
    assert "`same` is not SQL but the function itself, over `a`" in both.out
    chosen = auroral("explain", "two.py", "--diagram", "two")
    assert "diagram one" not in chosen.out
    assert auroral("explain", "two.py", "--diagram", "tow").code == 2


def test_boxes_of_a_table_are_one_fold(auroral: Call, tmp_path: Path) -> None:
    (tmp_path / "table.py").write_text(TABLE)
    for form in ("--small", "--batch"):
        ended = auroral("explain", "table.py", form)
        assert ended.code == 0 and "box put (region of table 't': put, look)" in ended.out
    assert "`look` is not SQL but a scan in Python, over `a`" in ended.out
    # A table that nothing reads gives no stream.
    (tmp_path / "table.py").write_text(TABLE.rpartition("a.select")[0] + 'a.filter("f", "k > 1").output()')
    assert "what is kept of it is not SQL but a scan in Python" in auroral("explain", "table.py").out


def test_a_deployment_has_no_sql(auroral: Call) -> None:
    ended = auroral("explain", EXAMPLES / "grid-deploy.xml")
    assert ended.code == 1
    assert "is a deployment" in ended.err


def test_neither_check_nor_explain_loads_spark(process: Call) -> None:
    code = "import sys; from auroral.cli import main; main(sys.argv[1:]); print('pyspark' in sys.modules)"
    import subprocess

    done = subprocess.run(
        [sys.executable, "-c", code, "explain", str(EXAMPLES / "netmon.py")], capture_output=True, text=True
    )
    assert done.stdout.splitlines()[-1] == "False"


def test_names_of_a_participant_are_told_from_those_of_others(auroral: Call, tmp_path: Path) -> None:
    (tmp_path / "two.py").write_text(PARTICIPANTS)
    assert "diagram acme/flows: class map" in auroral("explain", "two.py").out
    checked = auroral("check", "two.py").out
    assert "acme/flows" in checked and "globex/flows" in checked
    named = json.loads(auroral("explain", "--json", "two.py").out)["diagrams"]
    assert [(one["participant"], one["name"]) for one in named] == [("acme", "flows"), ("globex", "flows")]
