"""A recording in a real browser: the same page, and time goes as one wants it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from auroral.ui.serving import replayed
from ui.browsing import browsing, opened, picture
from ui.test_replay import trace

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["trace"]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as found:
        yield found


@pytest.fixture(scope="module")
def address(trace: Path) -> Iterator[str]:
    with replayed(trace, port=0) as page:
        yield page.address


def go_to(page: Page, seconds: float) -> None:
    page.evaluate(
        """(seconds) => { const slider = document.getElementById("moment"); slider.value = seconds;
            slider.dispatchEvent(new Event("input", { bubbles: true })); }""",
        seconds,
    )


def test_time_goes_forwards_and_back(browser: Browser, address: str) -> None:
    with opened(browser, address) as page:
        page.wait_for_selector(".flow.stable")
        assert page.inner_text("#link") == "recorded" and page.is_hidden("#controls")
        assert page.locator(".moment-mark").count() == 3
        go_to(page, 10)
        page.wait_for_selector(".flow[data-name=s1].silent")
        go_to(page, 22)
        page.wait_for_selector(".replicas li.failed[data-node=q0a]")
        assert "Down at this time: q0a" in page.inner_text("#banner")
        assert "q0a" in page.inner_text("#timeline") and "killed" in page.inner_text("#timeline")
        picture(page, "dashboard-replay", full_page=True)
        go_to(page, 10)
        page.wait_for_selector(".flow[data-name=s1].silent")
        assert page.locator(".replicas li.failed").count() == 0 and page.is_hidden("#banner")
        go_to(page, 1000)
        page.wait_for_function("() => document.querySelectorAll('#strips .square').length > 30")
        assert page.locator("#strips .square.tentative").count() == 0
        page.click(".box")
        page.wait_for_selector("#panel dl")


def test_by_keyboard_and_played(browser: Browser, address: str) -> None:
    with opened(browser, address, viewport={"width": 400, "height": 860}) as page:
        page.wait_for_selector(".flow.stable")
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        page.focus("#moment")
        for _ in range(9):
            page.keyboard.press("ArrowRight")
        page.wait_for_selector(".flow[data-name=s1].silent")
        assert page.inner_text("#moment-words").startswith("9.0 s")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("Shift+ArrowRight")
        assert page.inner_text("#moment-words").startswith("18.0 s")
        assert "18" in str(page.get_attribute("#moment", "aria-valuetext"))
        page.keyboard.press("Home")
        page.wait_for_selector(".flow[data-name=s1].stable")
        page.select_option("#speed", "16")
        page.focus("#play")
        page.keyboard.press("Enter")
        assert page.inner_text("#play") == "pause"
        page.wait_for_function("() => document.querySelectorAll('#strips .square').length > 15")
        page.keyboard.press("Enter")
        assert page.inner_text("#play") == "play"
        stopped: Any = page.input_value("#moment")
        page.wait_for_timeout(500)
        assert page.input_value("#moment") == stopped
        picture(page, "dashboard-replay-narrow")
        # To its end, where it stops by itself.
        page.select_option("#speed", "64")
        page.focus("#play")
        page.keyboard.press("Enter")
        page.wait_for_function("() => document.getElementById('play').textContent === 'play'")
        assert float(page.input_value("#moment")) > 60
