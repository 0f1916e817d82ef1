"""The stored report of the studies of the market: all of them, the same in both forms, and reasons for all that does not hold."""

import json
from pathlib import Path

import generate_docs
from auroral.commands.contract_experiments import NAMES

ROOT = Path(__file__).parents[2]
STORED = ROOT / "bench" / "results" / "contracts"
REPORT = json.loads((STORED / "report.json").read_text(encoding="utf-8"))
STATEMENTS = [one for each in REPORT["experiments"] for one in each["statements"]]


def test_it_has_every_study() -> None:
    assert tuple(one["name"] for one in REPORT["experiments"]) == NAMES


def test_the_page_says_what_the_figures_say() -> None:
    page = (STORED / "report.md").read_text(encoding="utf-8")
    for one in STATEMENTS:
        verdict = "| yes |  |" if one["holds"] else f"| no | {one['why']} |"
        assert f"| {one['published']} | {one['measured']} {verdict}" in page


def test_whatever_does_not_hold_has_a_reason_and_the_documentation_names_it() -> None:
    assert [one["published"] for one in STATEMENTS if not one["holds"] and not one["why"]] == []
    assert generate_docs.contract_experiments().strip() in (ROOT / "docs" / "market.md").read_text(encoding="utf-8")
