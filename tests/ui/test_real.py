"""The page, with its controls, on a deployment that runs: what the operator does there happens, is seen, and is right in the end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from auroral.node.fleet.processes import Fleet
from auroral.ui.replay.recording import open_recording
from auroral.ui.serving import replayed, served
from fleet.deployments import Feeds, fleet_in, frontier, goes_on, right_in_the_end, running, until
from ui.browsing import browsing, opened
from ui.test_replay_page import go_to

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.spark, pytest.mark.slow]
WITHIN = 2.0
"""Seconds from the first tentative row to what is seen of it."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as found:
        yield found


def done(page: Page, name: str) -> str:
    page.click(f'#controls button[data-does="{name}"]')
    return _confirmed(page)


def _confirmed(page: Page) -> str:
    page.click("#ask-do:enabled")
    page.wait_for_selector("#ask .done")
    said = page.inner_text("#ask .done")
    page.click("#ask-cancel")
    return said


def test_what_is_done_on_the_page_happens_and_is_right(browser: Browser, tmp_path: Path, spark: Any) -> None:
    folder = tmp_path / "live"
    with running(folder) as fleet:
        with (
            closing(Feeds(fleet)),
            served(folder, port=0, controls=True) as server,
            opened(browser, server.address) as page,
        ):
            _operate(page, fleet, folder)
        right_in_the_end(fleet_in(folder), spark)
    # And it can be looked at again.
    with replayed(folder, port=0) as server, opened(browser, server.address) as page:
        _look_back(page, folder)


def _operate(page: Page, fleet: Fleet, folder: Path) -> None:
    page.set_default_timeout(90_000)
    page.fill("#operator-token", (folder / "operator-token").read_text())
    page.keyboard.press("Enter")
    until(lambda: frontier(fleet) > 6)
    page.wait_for_selector(".flow[data-name=sums].stable")

    # An input is cut off from both replicas.
    assert done(page, "Cut east → na") == "east and na are cut off from each other"
    assert "becomes tentative" in _foretold(page, "Cut east → nb")
    _confirmed(page)
    page.wait_for_function(
        """() => document.querySelector("#strips .square.tentative") && document.querySelector(".flow[data-name=sums].tentative")"""
    )
    seen = time.time()
    first = next(one for one in fleet.ask("client", "tail") if one["kind"] == "tentative")
    assert seen - first["at"] < WITHIN, f"{seen - first['at']:.2f} s"
    page.wait_for_selector(".line.failed", state="attached")
    done(page, "Heal east → na")
    done(page, "Heal east → nb")
    page.wait_for_function(
        """() => !document.querySelector("#strips .square.tentative") && document.querySelector(".flow[data-name=sums].stable")"""
    )
    assert page.locator("#strips .square.confirmed, #strips .square.corrected").count() > 0
    assert page.locator(".line.failed, .line.tentative").count() == 0

    # A node is killed, and a box comes between two others meanwhile: once the node is back.
    pid = fleet.pid("nb")
    assert "n goes on, on na." in _foretold(page, "Kill nb")
    assert _confirmed(page).startswith("nb is killed")
    until(lambda: not fleet.lives("nb"))
    page.wait_for_selector(".replicas li.failed[data-node=nb]")
    goes_on(fleet, 2)
    fleet_in(folder).up(lambda _: None)
    assert fleet.pid("nb") != pid
    page.wait_for_selector(".replicas li.stable[data-node=nb]")
    page.click(".box[data-name=high]")
    page.click("#panel button:text('change parameters')")
    page.locator("#ask .pair input").nth(1).fill("n > 4")
    page.click("#ask-check")
    assert _confirmed(page) == "n: the change to version 1 is under way"
    until(lambda: len((fleet.status()["catalog"] or {}).get("starts", {}).get("n", ())) == 2)
    page.keyboard.press("Escape")
    page.wait_for_selector(".box[data-name=high] span:has-text('n > 4')")
    goes_on(fleet, 2)


def _look_back(page: Page, folder: Path) -> None:
    recording = open_recording(folder)
    tentative = next(one["at"] for one in recording.moments if one.get("delivery", {}).get("kind") == "tentative")
    page.wait_for_selector("#moment")
    cut = next(one["at"] for one in recording.moments if one.get("event") == "cut off")
    # Before its processes are ended.
    last = max(one["at"] for one in recording.moments if "delivery" in one)
    for seconds, kind in ((tentative + 0.5, "tentative"), (cut - 0.1, "stable"), (last, "stable")):
        go_to(page, seconds - recording.begin)
        page.wait_for_selector(f".flow[data-name=sums].{kind}")
        page.wait_for_function(
            f"""() => Boolean(document.querySelector("#strips .square.tentative")) === {str(kind == "tentative").lower()}"""
        )
    assert "cut off from na" in page.inner_text("#timeline") and "killed" in page.inner_text("#timeline")


def _foretold(page: Page, name: str) -> str:
    page.click(f'#controls button[data-does="{name}"]')
    page.wait_for_selector("#ask .will li")
    return page.inner_text("#ask .will")
