"""The page of `auroral report`: what it says, that it needs nothing else, and that no value becomes markup."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from auroral.cli import main
from auroral.node.course import CourseWriter, Spell
from auroral.node.fleet.deliverycourse import DeliveryCourse
from auroral.node.report import LedgerLine, OutputReport, Report
from auroral.reporting.facts import Facts, Verdict, facts_in
from auroral.reporting.markup import Markup, table, tag
from auroral.reporting.page import MOST_ROWS, page
from auroral.reporting.times import length, ticks
from docs.blocks import ROOT, blocks_of, run_commands
from ui.browsing import browsing, opened, picture
from ui.standins import StandIns, all_is_well, lima_is_lost, standing_in

EVIL = "<script>alert(1)</script>\"'&\x00"


def gone_through(found: StandIns) -> None:
    """What a client would have written down: a spell of nine tentative buckets, some of which were corrected."""
    writer = CourseWriter(found.deployed.folder)
    course, began = DeliveryCourse(writer), time.time() - 60
    for n in range(40):
        course.delivered("alerts", n, "stable", 2, began + n, 0.1 + 0.05 * (n % 4), {})
    for n in range(9):
        lacks = {"oslo": "complete", "lima": "missing"}
        course.delivered("alerts", 40 + n, "tentative", 2, began + 44 + n, 4.1 if n == 0 else 0.4, lacks)
    for n in range(9):
        course.delivered("alerts", 40 + n, "corrected" if n % 3 else "confirmed", 2, began + 54, None, {})
    writer.flush()


@pytest.fixture
def deployment(tmp_path: Path) -> StandIns:
    with standing_in(tmp_path / "live") as found:
        all_is_well(found)
        lima_is_lost(found, delivered=False)
        gone_through(found)
    return found


PROVED = Report(
    "f",
    (OutputReport("alerts", 5, 7, 7, 0, 0, ()),),
    (LedgerLine("input oslo: rows read = logged + left out", 9, 9),),
)


def test_a_deployment_tells_what_failed_and_what_was_tentative(deployment: StandIns) -> None:
    facts = facts_in(deployment.deployed.folder)
    assert [(one.who, one.what, one.end) for one in facts.incidents] == [
        ("lima", "was cut off from mergea", None),
        ("lima", "was cut off from mergeb", None),
    ]
    assert [row["process"] for row in facts.timeline][:4] == ["oslo", "bern", "lima", "mergea"]
    said = facts.to_json()["outputs"]["alerts"]
    assert said["bound"] == 5.0 and said["highest"]["delay"] == 4.1
    assert said["buckets"] | {} == {
        "stable": 40,
        "stable rows": 80,
        "tentative": 9,
        "tentative rows": 18,
        "confirmed": 3,
        "confirmed rows": 6,
        "corrected": 6,
        "corrected rows": 12,
    }
    (spell,) = said["tentative"]
    assert spell["ended"] - spell["began"] == pytest.approx(10) and spell["lacked"] == {"lima": "missing"}
    text = page(facts)
    for words in ("was cut off from mergea", "X = 5 s", "4.10 s", "lima (missing)", "Not verified", "in 1 spell<"):
        assert words in text


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (Verdict(PROVED), "Proved: the stable output equals one plain batch run"),
        (
            Verdict(replace(PROVED, outputs=(OutputReport("alerts", 5, 7, 6, 1, 0, ()),))),
            "NOT verified: the output is not what a batch run over the logged rows gives",
        ),
        (
            Verdict(replace(PROVED, outputs=(OutputReport("alerts", None, 0, 0, 0, 0, ()),))),
            "NOT verified: nothing was compared of alerts",
        ),
        (
            Verdict(replace(PROVED, ledger=(LedgerLine("rows read = logged", 8, 9),))),
            "NOT verified: the output is what a batch run over the logged rows gives, but the ledger",
        ),
        (Verdict(why_not="the log is damaged"), "NOT verified: the log is damaged"),
    ],
)
def test_the_verdict_is_the_first_that_is_read(deployment: StandIns, verdict: Verdict, words: str) -> None:
    text = page(replace(facts_in(deployment.deployed.folder), verdict=verdict))
    assert text.index(words) < text.index("<section>")


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


def test_no_value_becomes_markup_and_nothing_is_fetched(deployment: StandIns) -> None:
    facts = facts_in(deployment.deployed.folder)
    incident = replace(facts.incidents[0], who=EVIL, what=EVIL, detail=EVIL)
    course = facts.courses["alerts"]
    course.spells.append(Spell(facts.began or 0, None, {"lacked": {EVIL: EVIL}}))
    odd = replace(
        facts,
        diagram=EVIL,
        run=EVIL,
        picture=EVIL,
        incidents=[incident],
        ledger=[(EVIL, EVIL, 1, EVIL)],
        inputs={EVIL: (EVIL, 1, True)},
        outputs={EVIL: (EVIL, 2**62)},
        courses={EVIL: course},
        timeline=[{"process": EVIL, "bars": [["stable", facts.began, None]]}],
        verdict=Verdict(replace(PROVED, notes=(EVIL,), outputs=(OutputReport(EVIL, 5, 7, 7, 0, 0, ()),))),
    )
    text, found = page(odd), _Tags()
    found.feed(text)
    assert "script" not in found.tags and "\x00" not in text and text.count("&lt;script&gt;") > 12
    assert not [
        value
        for name, value in found.attributes
        if name in ("src", "href") or ("alert(1)" in value and name != "aria-label")
    ]
    assert not re.search(r"https?:|url\(|@import", text)


def test_markup() -> None:
    assert tag("p", "a<b", None, ["c", tag("i", "&")], class_='x"y') == '<p class="x&quot;y">a&lt;bc<i>&amp;</i></p>'
    assert tag("line", x1=1, stroke_width=None) == '<line x1="1"/>'
    assert isinstance(table(("a",), [("1",)], (0,)), Markup)


def test_long_tables_say_what_they_leave_out(deployment: StandIns) -> None:
    facts = facts_in(deployment.deployed.folder)
    text = page(replace(facts, incidents=[facts.incidents[0]] * (MOST_ROWS + 7)))
    assert "And 7 more incidents" in text


@pytest.mark.parametrize("span", [0.5, 7, 61, 600, 7200, 86_400, 9e5, 4e7])
def test_axes_have_a_few_round_times(span: float) -> None:
    found = dict(ticks(1_800_000_000.3, 1_800_000_000.3 + span))
    assert 1 <= len(found) <= 10 and len(set(found.values())) == len(found)


def test_tenths_of_a_second_are_those_that_they_are() -> None:
    words = [word for _, word in ticks(1_800_000_000.3, 1_800_000_001.15)]
    assert words == [f"08:00:00.{tenth}" for tenth in range(3, 10)] + ["08:00:01.0", "08:00:01.1"]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(None, "-"), (0.123, "0.12 s"), (61, "61.0 s"), (125, "2 min 05 s"), (7300, "2 h 01 min"), (2e5, "2 d 7 h")],
)
def test_lengths(seconds: float | None, words: str) -> None:
    assert length(seconds) == words


# The command


def test_the_command_writes_where_it_is_told(
    deployment: StandIns, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def ended(*arguments: object) -> tuple[int, str]:
        code = main(["report", *map(str, arguments), "--no-verify"])
        return code, "".join(capsys.readouterr())

    folder = deployment.deployed.folder
    code, said = ended(folder)
    assert code == 0 and "incidents: 2; times tentative: 1; not verified" in said
    assert (folder / "report.html").read_text().startswith("<!doctype html>")
    code, said = ended(folder, "--out", tmp_path / "gone" / "x.html")
    assert code == 2 and "allowed: a file in a folder that is there" in said
    code, said = ended(folder, "--json", "--out", tmp_path / "x.html")
    assert code == 0 and (tmp_path / "x.html").exists()
    assert json.loads(said)["outputs"]["alerts"]["bound"] == 5.0
    code, said = ended(tmp_path / "nowhere")
    assert code == 1 and "there is no such folder" in said


def test_the_commands_of_its_page(deployment: StandIns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = blocks_of(ROOT / "docs" / "report.md")
    run_commands(block)
    assert (tmp_path / "live" / "report.html").exists() and (tmp_path / "live.html").exists()


def test_a_folder_without_a_course_has_a_page(tmp_path: Path) -> None:
    """As of a deployment that was made and never begun."""
    with standing_in(tmp_path / "live") as found:
        facts: Facts = facts_in(found.deployed.folder)
    text = page(facts)
    assert "Nothing was delivered yet" in text and "Nothing failed" in text


@pytest.mark.slow
def test_in_a_browser(deployment: StandIns, tmp_path: Path) -> None:
    """No errors, nothing asked for, nothing wider than the window; light, dark and narrow."""
    (tmp_path / "r.html").write_text(page(replace(facts_in(deployment.deployed.folder), verdict=Verdict(PROVED))))
    address = f"file://{tmp_path}/r.html"
    looks = {
        "report": {},
        "report-dark": {"color_scheme": "dark"},
        "report-narrow": {"viewport": {"width": 400, "height": 800}},
    }
    with browsing() as browser:
        for name, how in looks.items():
            with opened(browser, address, **how) as shown:
                assert shown.locator(".verdict.right").is_visible()
                assert shown.locator("svg[role=img]").count() == 2
                assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")
                if name == "report":
                    picture(shown, name, full_page=True)
