"""`auroral contracts advise`: what it reads, says and draws, and all that can be wrong with the files."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet
import pytest

from auroral.cli import main

LOADS = [0.3] * 80 + [0.7] * 10 + [1.1] * 10


@pytest.fixture
def loads(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "load.csv").write_text("\n".join(["load,cpu,text", *(f"{one},{one / 2},x" for one in LOADS)]))
    return tmp_path


def test_advice_for_people(loads, capsys):
    (loads / "have.json").write_text(json.dumps([{"buyer": "we", "seller": "they", "high": 40}]))
    assert main(["contracts", "advise", "load.csv", "--contracts", "have.json"]) == 0
    said = capsys.readouterr().out
    assert "above 0.8 in 9.9%" in said or "above 0.8 in 10.0%" in said or "above 0.8 in 10.1%" in said
    assert "as the buyer, at a price just below 25.00" in said and "we pays they up to 40" in said


def test_advice_for_machines_and_plots(loads, capsys):
    pa.parquet.write_table(pa.table({"mine": LOADS, "theirs": LOADS[::-1]}), "load.parquet")
    arguments = [
        "load.parquet",
        "--column",
        "mine",
        "--partners",
        "theirs",
        "--contract-cost",
        "0.001",
        "--out",
        "plots",
        "--json",
    ]
    assert main(["contracts", "advise", *arguments]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["seek"] == 1 and [one["contracts"] for one in found["brings"]] == [0, 1]
    assert found["brings"][1]["overload"]["probability"] == 0, "the partner is idle when this one is not"
    assert found["rows"] == 100 and all((loads / path).read_text().startswith("<?xml") for path in found["written"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["load.csv", "--column", "disk"], "has no column disk\n    allowed: load, cpu, text"),
        (["load.csv", "--column", "text"], "allowed: numbers"),
        (["none.csv"], "cannot be read"),
        (["load.txt"], "allowed: .csv, .parquet"),
        (["load.csv", "--capacity", "1.5"], "--capacity is 1.5"),
        (["load.csv", "--contract-cost", "-1"], "--contract-cost is -1"),
        (["load.csv", "--contracts", "load.csv"], "a JSON list of contracts"),
        (["load.csv", "--contracts", "wrong.json"], "no list of contracts"),
        (["load.csv", "--contracts", "self.json"], "a has a contract with itself"),
        (["short.csv"], "has 1 rows"),
        (["below.csv"], "has -1 in it"),
        (["holes.csv"], "is empty in 1 rows"),
    ],
)
def test_what_can_be_wrong(loads, capsys, arguments, words):
    (loads / "wrong.json").write_text("{}")
    (loads / "self.json").write_text('[{"buyer": "a", "seller": "a", "high": 1}]')
    (loads / "short.csv").write_text("load\n0.5\n")
    (loads / "below.csv").write_text("load\n" + "-1\n" * 12)
    (loads / "holes.csv").write_text("load,n\n" + "0.5,1\n" * 12 + ",1\n")
    assert main(["contracts", "advise", *arguments]) != 0
    assert words in capsys.readouterr().err
