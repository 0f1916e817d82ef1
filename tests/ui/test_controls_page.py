"""Controls of the page in a real browser, with stand-ins for the processes: what they say, refuse and do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from auroral.ui.serving import served
from ui.browsing import browsing, opened, picture
from ui.standins import StandIns, all_is_well, standing_in

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow
NARROW: dict[str, Any] = {"viewport": {"width": 400, "height": 860}}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as found:
        yield found


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandIns]:
    with standing_in(tmp_path_factory.mktemp("controls") / "live") as stand_ins:
        all_is_well(stand_ins)
        yield stand_ins


@pytest.fixture(scope="module")
def address(found: StandIns) -> Iterator[str]:
    with served(found.deployed.folder, port=0, controls=True) as page:
        yield page.address


@pytest.fixture
def done(found: StandIns) -> list[tuple[str, Any]]:
    found.done.clear()
    return found.done


def unlock(page: Page, found: StandIns) -> None:
    page.fill("#operator-token", (found.deployed.folder / "operator-token").read_text())
    page.keyboard.press("Enter")
    page.wait_for_selector("#controls-body li")


def does(page: Page, name: str) -> None:
    page.click(f'#controls button[data-does="{name}"]')


def test_without_the_token_nothing_can_be_done(
    browser: Browser, found: StandIns, address: str, done: list[tuple[str, Any]]
) -> None:
    with opened(browser, address, refused=True) as page:
        page.wait_for_selector("#controls:not([hidden])")
        assert page.locator("#controls-body button").count() == 0 and "locked" in page.inner_text("#controls-note")
        page.fill("#operator-token", (found.deployed.folder / "token").read_text())
        page.click("#enter button")
        page.wait_for_selector("#enter-wrong:not([hidden])")
        assert "this is not the operator's token" in page.inner_text("#enter-wrong")
        assert page.locator("#controls-body button").count() == 0
        # What is opened asks for the token too.
        page.click(".box[data-name=alerts]")
        page.click("#panel button:text('change parameters')")
        assert page.evaluate("document.activeElement.id") == "operator-token" and page.is_hidden("#ask")
        # Nor by hand, from a page that is open.
        asked = """async (headers) => (await fetch("/api/control/act", { method: "POST", headers,
            body: JSON.stringify({ do: "pause", source: "lima" }) })).status"""
        assert page.evaluate(asked, {"Content-Type": "application/json"}) == 403
        assert page.evaluate(asked, {"Content-Type": "application/json", "Authorization": "Bearer x"}) == 403
    assert done == []


def test_a_page_of_somebody_else_can_do_nothing(
    browser: Browser, found: StandIns, address: str, done: list[tuple[str, Any]]
) -> None:
    """In a browser that has the page open, and with the operator's token."""
    token = (found.deployed.folder / "operator-token").read_text().strip()
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(address)
        page.wait_for_selector("#link.live")
        evil = context.new_page()
        # The same machine under another name is another site.
        evil.route(
            "http://evil.localhost/", lambda route: route.fulfill(body="<h1>cats</h1>", content_type="text/html")
        )
        evil.goto("http://evil.localhost/")
        where = address.partition("/?")[0]
        tried = """async ([where, headers, mode]) => { try { return (await fetch(`${where}/api/control/act`, { method: "POST", mode,
            credentials: "include", headers, body: JSON.stringify({ do: "pause", source: "lima" }) })).status } catch { return "no" } }"""
        whole = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        assert evil.evaluate(tried, [where, whole, "cors"]) == "no"
        assert evil.evaluate(tried, [where, {"Content-Type": "text/plain"}, "no-cors"]) == "no"
    finally:
        context.close()
    assert done == []


def test_a_link_is_cut_after_it_was_said_what_happens_and_healed_again(
    browser: Browser, found: StandIns, address: str, done: list[tuple[str, Any]]
) -> None:
    with opened(browser, address) as page:
        unlock(page, found)
        assert page.is_hidden("#enter") and page.input_value("#operator-token") == ""
        page.wait_for_selector("#strips .square.stable")
        picture(page, "dashboard-controls", full_page=True)
        does(page, "Cut lima → mergea")
        page.wait_for_selector("#ask .will li")
        assert "mergea gives connections tentatively, without lima." in page.inner_text("#ask")
        picture(page, "dashboard-confirm")
        # By keyboard: Escape takes it back, and nothing was done.
        page.keyboard.press("Escape")
        assert page.is_hidden("#ask") and done == []
        does(page, "Cut lima → mergea")
        page.wait_for_selector("#ask-do:enabled")
        assert page.evaluate("document.activeElement.id") == "ask-do"
        page.keyboard.press("Enter")
        page.wait_for_selector("#ask .done")
        assert page.inner_text("#ask .done") == "lima and mergea are cut off from each other" and len(done) == 2
        page.keyboard.press("Enter")
        assert page.is_hidden("#ask")
        page.wait_for_selector('#controls button[data-does="Heal lima → mergea"]')
        does(page, "Heal lima → mergea")
        page.click("#ask-do:enabled")
        page.wait_for_selector("#ask .done")
        page.click("#ask-cancel")
        page.wait_for_selector('#controls button[data-does="Cut lima → mergea"]')


def test_a_node_is_killed_and_a_source_paused(
    browser: Browser, found: StandIns, address: str, done: list[tuple[str, Any]]
) -> None:
    process = found.alone("watcha")
    with opened(browser, address) as page:
        unlock(page, found)
        does(page, "Pause lima")
        page.click("#ask-do:enabled")
        page.wait_for_selector("#ask .done")
        page.click("#ask-cancel")
        page.wait_for_selector(".flow[data-name=lima].silent")
        does(page, "Resume lima")
        page.click("#ask-do:enabled")
        page.wait_for_selector("#ask .done")
        page.click("#ask-cancel")
        does(page, "Kill watcha")
        page.wait_for_selector("#ask .will li")
        assert "watch goes on, on watchb." in page.inner_text("#ask") and process.poll() is None
        page.click("#ask-do:enabled")
        page.wait_for_selector("#ask .done")
        assert process.wait(10) == -9
        page.click("#ask-cancel")
        page.wait_for_selector(".replicas li.failed[data-node=watcha]")
        assert page.locator('#controls button[data-does="Kill watcha"]').count() == 0
        # A move asks where to, and what it cannot do it says.
        does(page, "Move merge from mergea")
        page.fill("#to-node", "mergeb")
        page.click("#ask-check")
        page.wait_for_selector("#ask .wrong")
        assert "merge runs on mergeb already" in page.inner_text("#ask") and page.is_disabled("#ask-do")
        page.fill("#to-node", "watchb")
        assert page.locator("#ask .wrong").count() == 0
        page.keyboard.press("Enter")
        page.click("#ask-do:enabled")
        page.wait_for_selector("#ask .done")
        assert page.inner_text("#ask .done") == "merge is on its way to watchb"
    assert [one["do"] for _, one in done] == ["pause", "resume", "move"]


@pytest.mark.parametrize("how", [{}, NARROW], ids=["wide", "narrow"])
def test_boxes_are_changed_once_the_check_finds_nothing(
    browser: Browser, found: StandIns, address: str, how: dict[str, Any], done: list[tuple[str, Any]]
) -> None:
    with opened(browser, address, **how) as page:
        unlock(page, found)
        wide = how.get("viewport", {"width": 1280})["width"]
        assert page.evaluate("document.documentElement.scrollWidth") <= wide
        page.click(".box[data-name=alerts]")
        page.click("#panel button:text('change parameters')")
        value = page.locator("#ask .pair input").nth(1)
        assert value.input_value() == "connections > 20 and ports > 10"
        value.fill("conections > 20")
        page.keyboard.press("Enter")
        page.wait_for_selector("#ask .wrong")
        assert "unknown field 'conections'" in page.inner_text("#ask") and "did you mean" in page.inner_text("#ask")
        assert page.is_disabled("#ask-do") and done == []
        box = page.locator("#ask").bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= wide
        picture(page, f"dashboard-change{'-narrow' if how else ''}")
        value.fill("connections > 25")
        page.click("#ask-check")
        page.wait_for_selector("#ask .will li")
        assert "watch becomes version 1" in page.inner_text("#ask")
        # What was checked is what is done: another value must be checked again.
        value.fill("connections > 26")
        assert page.is_disabled("#ask-do") and page.locator("#ask .will").count() == 0
        page.keyboard.press("Escape")
        # On an arrow.
        page.keyboard.press("Escape")
        page.click(".flow[data-name=connections]")
        page.click("#panel button:text('insert a box before hosts')")
        page.fill("#ask [data-field=name]", "low")
        assert page.locator("#ask .pair input").first.input_value() == "expression.0"
        page.locator("#ask .pair input").nth(1).fill("port < 1024")
        page.click("#ask-check")
        page.wait_for_selector("#ask .will li")
        page.click("#ask summary")
        assert '<box name="low" type="filter">' in page.inner_text("#ask pre")
        if not how:
            picture(page, "dashboard-insert")
        page.keyboard.press("Escape")
        assert done == []
