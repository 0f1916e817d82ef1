"""The stored report of the experiments: all of them, the same in both forms, and reasons for all that does not hold."""

import json
import re
from pathlib import Path

import generate_docs
from auroral.commands.experiments import NAMES

ROOT = Path(__file__).parents[2]
STORED = ROOT / "bench" / "results" / "experiments"
REPORT = json.loads((STORED / "report.json").read_text(encoding="utf-8"))
STATEMENTS = [one for each in REPORT["experiments"] for one in each["statements"]]


def test_it_has_every_experiment_the_load_and_the_job_costs() -> None:
    assert tuple(one["name"] for one in REPORT["experiments"]) == NAMES
    assert REPORT["machine"].keys() == {"cores", "load_before", "load_after"}
    assert 0 < REPORT["costs"]["begin"] < 1


def test_the_page_says_what_the_figures_say() -> None:
    page = (STORED / "report.md").read_text(encoding="utf-8")
    for one in STATEMENTS:
        verdict = "| yes |  |" if one["holds"] else f"| no | {one['why']} |"
        assert f"| {one['published']} | {one['measured']} {verdict}" in page
    assert len(re.findall(r"\| (?:yes|no) \| [^|]*\|$", page, flags=re.MULTILINE)) == len(STATEMENTS)


def test_whatever_does_not_hold_has_a_reason() -> None:
    assert [one["published"] for one in STATEMENTS if not one["holds"] and not one["why"]] == []


def test_the_documentation_counts_and_names_them() -> None:
    text = (ROOT / "docs" / "failures.md").read_text(encoding="utf-8")
    assert generate_docs.experiments().strip() in text
    holding = sum(one["holds"] for one in STATEMENTS)
    assert f"Of {len(STATEMENTS)} statements {holding} hold." in text
