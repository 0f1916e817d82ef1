"""The small applications of docs/examples.md: each finds what its rows were made to have in them, also through failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from examples.building import generator as building
from examples.rfid import generator as rfid
from examples.wide_area import generator as wide_area

import auroral
from auroral.commands.diagrams import load_one
from auroral.model.diagram import Diagram
from auroral.sim import Tried, under_failures
from docs.blocks import ROOT

EXAMPLES = ROOT / "examples"
Rows = Mapping[str, Sequence[Mapping[str, Any]]]


def netmon_rows() -> Rows:
    fields = "ts timestamp, src string, dst string, port int"
    return {site: auroral.read_rows(EXAMPLES / f"{site}.csv", fields) for site in ("oslo", "bern", "lima")}


def diagram(file: str) -> Diagram:
    return load_one(str(EXAMPLES / file), ()).diagram


CASES = {
    "netmon": (
        "netmon.py",
        "netmon-deploy.yaml",
        netmon_rows,
        "at 10s silence bern; at 15s crash monitora; at 25s resume bern; at 30s restart monitora",
        "alerts",
    ),
    "building": (
        "building/building.py",
        "building/deploy.yaml",
        building.readings,
        "at 60s silence upper; at 80s crash housea; at 100s resume upper; at 110s restart housea",
        "fire",
    ),
    "rfid": (
        "rfid/rfid.py",
        "rfid/deploy.yaml",
        rfid.rows,
        "at 20s silence till; at 45s resume till; at 50s crash leavinga; at 60s restart leavinga",
        "alarms",
    ),
    "wide_area": (
        "wide_area/wide_area.py",
        "wide_area/deploy.yaml",
        wide_area.reports,
        "at 15s silence uw; at 20s crash loadsa; at 35s resume uw; at 40s restart loadsa",
        "servers",
    ),
}


@pytest.fixture(scope="module")
def calm() -> dict[str, Tried]:
    """What each gives where nothing fails."""
    return {name: under_failures(diagram(file), rows(), bound="10s") for name, (file, _, rows, _, _) in CASES.items()}


def rows_of(tried: Tried, stream: str, field: str) -> set[Any]:
    return {row[field] for row in tried.rows(stream)}


def test_each_finds_what_is_in_its_rows(calm: dict[str, Tried]) -> None:
    assert rows_of(calm["building"], "fire", "room") == {building.FIRE}, "and not where one sensor is broken"
    assert rows_of(calm["building"], "too warm", "room") == {"office"}, "and not where nobody is"
    assert rows_of(calm["rfid"], "alarms", "tag") == set(rfid.STOLEN)
    assert calm["rfid"].rows("stock")[:3] == [{"zone": zone, "things": 10} for zone in sorted(rfid.ZONES)]
    costs = calm["wide_area"].rows("servers")
    assert min(costs[:4], key=lambda row: row["cost"])["server"] == wide_area.BUSY
    assert min(costs[-4:], key=lambda row: row["cost"])["server"] == "mit"
    assert rows_of(calm["netmon"], "alerts", "src") == {"10.66.6.6"}, "the host that scans"
    assert len(calm["netmon"].rows("alerts")) > 3


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_through_failures_it_answers_and_is_right_in_the_end(name: str, calm: dict[str, Tried]) -> None:
    file, deployment, rows, failures, stream = CASES[name]
    text = (EXAMPLES / deployment).read_text(encoding="utf-8")
    tried = under_failures(diagram(file), rows(), failures, deployment=text)
    assert tried.ok, tried.violations
    assert any(answer.rows for answer in tried.tentative if answer.stream == stream), "nothing was answered meanwhile"
    for output in diagram(file).outputs:
        assert tried.rows(output.stream) == calm[name].rows(output.stream)


def test_a_silent_till_accuses_nobody_and_holds_up_nothing_else() -> None:
    file, deployment, rows, _, _ = CASES["rfid"]
    text = (EXAMPLES / deployment).read_text(encoding="utf-8")
    tried = under_failures(diagram(file), rows(), "at 20s silence till; at 45s resume till", deployment=text)
    told = [answer for answer in tried.answers if answer.rows]
    assert {row["tag"] for answer in told if answer.stream == "alarms" for row in answer.rows} == set(rfid.STOLEN)
    silent = [answer for answer in told if 21 < answer.at < 45]
    assert {answer.stream for answer in silent} == {"stock"} and all(answer.stable for answer in silent)
