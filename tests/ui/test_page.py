"""The page in a real browser, with stand-ins for the processes of the deployment.

With AURORAL_SCREENSHOTS=1, the pictures of the docs are made here.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from auroral.dpc.assembly import CLIENT
from auroral.ui.serving import served
from ui.browsing import browsing, opened, picture
from ui.standins import StandIns, alert, all_is_well, lima_is_back, lima_is_lost, node, output, source, standing_in
from ui.test_picture import large

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow
NARROW: dict[str, Any] = {"viewport": {"width": 400, "height": 860}}
DARK: dict[str, Any] = {"color_scheme": "dark"}
WITHIN = 2.0
"""Seconds after which what was delivered must be seen."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as found:
        yield found


@pytest.fixture
def found(tmp_path: Path) -> Iterator[StandIns]:
    with standing_in(tmp_path / "live") as stand_ins:
        all_is_well(stand_ins)
        yield stand_ins


@pytest.fixture
def address(found: StandIns) -> Iterator[str]:
    with served(found.deployed.folder, port=0) as page:
        yield page.address


def squares(page: Page) -> dict[str, int]:
    """How many of each kind there are."""
    return page.evaluate(
        """() => [...document.querySelectorAll("[data-output=alerts] .square")].reduce((counts, one) => {
            const kind = one.classList[1]; counts[kind] = (counts[kind] ?? 0) + 1; return counts; }, {})"""
    )


def test_a_lost_input_is_seen_and_so_is_its_correction(browser: Browser, found: StandIns, address: str) -> None:
    with opened(browser, address) as page:
        page.wait_for_selector(".flow[data-name=alerts].stable")
        page.wait_for_selector("#strips .square.stable")
        # Behind the bar of the browser, nobody sees the key.
        assert "key" not in page.url and page.title() == "scans · Auroral"
        assert page.inner_text("#summary") == "its output is stable" and page.inner_text("#ledger") == "none"
        assert page.locator(".line.stable").count() == page.locator(".line").count() == 13
        assert squares(page) == {"stable": 58}
        picture(page, "dashboard-stable", full_page=True)

        lima_is_lost(found)
        began = time.monotonic()
        page.wait_for_selector("#strips .square.tentative", timeout=1000 * WITHIN)
        page.wait_for_selector(".flow[data-name=alerts].tentative", timeout=1000 * WITHIN)
        assert time.monotonic() - began < WITHIN
        assert squares(page) == {"stable": 58, "tentative": 9}
        assert page.locator(".line.tentative").count() == 7 and page.locator(".line.stable").count() == 4
        # What is cut off is well where it is made, and does not arrive.
        assert page.locator(".line.failed").count() == 2 and page.locator(".flow[data-name=lima].stable").count() == 1
        assert page.inner_text(".flow[data-name=lima] .state") == "stable · not at merge"
        # Told apart without colours too: by word, by mark and by the dash of the line.
        assert "tentative" in str(page.get_attribute(".flow[data-name=alerts]", "aria-label"))
        assert page.locator(".flow[data-name=alerts] .sign.tentative").count() == 1
        dashes = "(path) => getComputedStyle(path).strokeDasharray"
        assert page.locator(".line.tentative").first.evaluate(dashes) != page.locator(".line.stable").first.evaluate(
            dashes
        )
        assert page.locator(".replicas li.tentative").count() == 4
        assert page.locator(".cover .missing").count() == 9 and page.locator(".cover .complete").count() == 18
        assert page.locator(".late.tentative").count() == 9 and page.locator(".bound").count() == 1
        assert "cut off from mergea" in page.inner_text("#timeline")
        assert page.locator(".lanes .bar.tentative").count() == 4
        picture(page, "dashboard-tentative", full_page=True)

        lima_is_back(found)
        began = time.monotonic()
        page.wait_for_selector("#strips .square.corrected", timeout=1000 * WITHIN)
        page.wait_for_selector(".flow[data-name=alerts].stable", timeout=1000 * WITHIN)
        assert time.monotonic() - began < WITHIN
        # In place: what was tentative is, and nothing was added for it.
        assert squares(page) == {"stable": 61, "confirmed": 3, "corrected": 6}
        assert page.locator("#strips .square .tick").count() == 2
        picture(page, "dashboard-corrected", full_page=True)


@pytest.mark.parametrize(("name", "how"), [("dark", DARK), ("narrow", NARROW)])
def test_dark_and_narrow(browser: Browser, found: StandIns, address: str, name: str, how: dict[str, Any]) -> None:
    lima_is_lost(found)
    with opened(browser, address, **how) as page:
        page.wait_for_selector("#strips .square.tentative")
        wide = how.get("viewport", {"width": 1280})["width"]
        assert page.evaluate("document.documentElement.scrollWidth") <= wide
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, background[4:-1].split(","))) < 150) == (name == "dark")
        picture(page, f"dashboard-{name}", full_page=True)
        page.click(".flow[data-name=alerts]")
        page.wait_for_selector(".rows td")
        box = page.locator("#panel").bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= wide
        picture(page, f"dashboard-stream-{name}")


def test_by_keyboard_alone(browser: Browser, found: StandIns, address: str) -> None:
    with opened(browser, address) as page:
        page.wait_for_selector("#strips .square.stable")
        names = []
        for _ in range(16):
            page.keyboard.press("Tab")
            names.append(page.evaluate("document.activeElement.dataset.name ?? document.activeElement.id"))
            outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outline != "none", f"nobody sees that {names[-1]} has the focus"
            if names[-1] == "hosts":
                break
        # As data flows.
        assert {*names[-6:-3]} == {"bern", "lima", "oslo"} and names[-3:] == ["connections", "connections", "hosts"]
        page.keyboard.press("Enter")
        page.wait_for_selector("#panel pre")
        assert "GROUP BY" in page.inner_text("#panel") and "count_distinct(port)" in page.inner_text("#panel")
        assert page.get_attribute(".box[data-name=hosts]", "aria-expanded") == "true"
        picture(page, "dashboard-box")
        page.keyboard.press("Escape")
        assert page.is_hidden("#panel") and page.evaluate("document.activeElement.dataset.name") == "hosts"
        # Along the squares.
        page.focus(".strip[data-stream=alerts]")
        page.keyboard.press("End")
        assert page.inner_text(".readout").startswith("bucket 57, ") and "1 row ·" in page.inner_text(".readout")
        page.keyboard.press("ArrowLeft")
        assert "bucket 56, " in page.inner_text(".readout") and "0 rows" in page.inner_text(".readout")


def test_what_rows_and_stories_say_is_text(browser: Browser, found: StandIns, address: str) -> None:
    evil = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    found.deliver("alerts", 58, "stable", [alert(evil, 1)], latency=0.4)
    found.stories["watcha", "alerts"] = evil
    found.note("watcha", "diverged", detail=evil)
    found.says["lima"] = source(9999, ledger={evil: 3})
    with opened(browser, address) as page:
        page.click(".flow[data-name=alerts]")
        page.wait_for_selector(".rows td")
        assert evil in page.inner_text(".rows") and evil in page.inner_text(".story")
        page.wait_for_selector("#ledger table")
        assert evil in page.inner_text("#ledger") and evil in page.inner_text("#timeline")
        assert page.locator("img, #panel script, main script").count() == 0


def test_processes_and_the_whole_deployment_end_and_come_back(browser: Browser, found: StandIns, address: str) -> None:
    with opened(browser, address) as page:
        page.wait_for_selector("#strips .square.stable")
        assert page.is_hidden("#banner")
        found.down("watcha")
        page.wait_for_selector(".replicas li.failed[data-node=watcha]")
        assert "Down: watcha" in page.inner_text("#banner") and "auroral up --folder" in page.inner_text("#banner")
        # The other replica is there.
        assert page.locator(".flow[data-name=alerts].stable").count() == 1
        found.down(*found.says.keys() - {"watcha"})
        page.wait_for_selector(".flow[data-name=alerts].failed")
        # Those that are left are seen to be down one after the other.
        page.wait_for_selector("#summary span:text-is('not running')")
        assert page.inner_text("#banner").startswith("This deployment does not run.")
        assert squares(page) == {"stable": 58}, "what was seen stays"
        for name in found.says:
            found.up(name)
        page.wait_for_selector(".flow[data-name=alerts].stable")
        page.wait_for_selector("#banner", state="hidden")
        # Whoever was client remembers other deliveries.
        found.delivered.clear()
        found.deliver("alerts", 58, "stable", [], latency=0.3)
        found.down(CLIENT)
        found.up(CLIENT)
        assert page.inner_text("#summary") == "its output is stable"


def test_the_page_goes_on_when_its_server_is_back(browser: Browser, found: StandIns) -> None:
    with served(found.deployed.folder, port=0) as first:
        port = int(first.address.rpartition(":")[2].partition("/")[0])
        context = browser.new_context()
        page = context.new_page()
        page.goto(first.address)
        page.wait_for_selector("#link.live")
    page.wait_for_selector("#link.away")
    assert page.inner_text("#link") == "connection lost, trying again"
    found.deliver("alerts", 58, "tentative", [alert("10.0.0.1", 1)], latency=0.3)
    with served(found.deployed.folder, port=port):
        page.wait_for_selector("#link.live")
        page.wait_for_selector("#strips .square.tentative")
        context.close()


def test_any_number_of_tabs(browser: Browser, found: StandIns, address: str) -> None:
    """A browser has six connections to a server, and news take one for as long as a page is open."""
    context = browser.new_context()
    try:
        pages = [context.new_page() for _ in range(8)]
        for page in pages:
            page.set_default_timeout(10_000)
            page.goto(address)
            page.wait_for_selector("#strips .square.stable")
            assert squares(page) == {"stable": 58}, "who comes later is told everything"
        lima_is_lost(found)
        for page in pages:
            page.bring_to_front()
            page.wait_for_selector("#strips .square.tentative")
            page.click(".flow[data-name=alerts]")
            page.wait_for_selector(".rows td")
        pages[0].close()
        lima_is_back(found)
        pages[-1].wait_for_selector("#strips .square.corrected")
    finally:
        context.close()


def test_it_is_painted_within_a_second(browser: Browser, found: StandIns, address: str) -> None:
    with opened(browser, address) as page:
        page.wait_for_selector("#strips .square.stable")
        page.reload()
        page.wait_for_selector("#strips .square.stable")
        painted = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        assert painted < 1000, f"{painted:.0f} ms"
        # And remembers no more when nobody has looked at it, so that it was not drawn, for days.
        assert page.evaluate(_DAYS) == 600


def test_two_hundred_boxes_and_fifty_streams_stay_fluid(browser: Browser, tmp_path: Path) -> None:
    builder, sets = large()
    with standing_in(tmp_path / "live", builder, sets) as found, served(found.deployed.folder, port=0) as server:
        outputs = {f"last{n}": f"s{n}a" for n in range(25)}
        found.says |= {f"in{n}": source(9999) for n in range(25)}
        found.says |= {name: node(**{stream: output(name[:-1], "STABLE", 50, {})}) for stream, name in outputs.items()}
        streams = {s: {"newest": 49, "proc": 0.3, "tentative_now": 0, "frontier": 50, "reads": {}} for s in outputs}
        found.says[CLIENT] = {"kind": "client", "counts": {}, "streams": streams, "sinks": [], "readers": []}
        found.rates = {f"in{n}": 100.0 + n for n in range(25)} | dict.fromkeys(outputs, 50.0)
        for bucket in range(20):
            for stream in outputs:
                found.deliver(stream, bucket, "stable", [{"n": bucket}], latency=0.3)
        with opened(browser, server.address) as page:
            page.wait_for_selector(".flow[data-name=last24].stable")
            page.wait_for_selector("[data-output=last0] .square")
            assert page.locator(".box").count() == 200 and page.locator(".flow").count() == 50
            assert page.evaluate("document.documentElement.scrollWidth") <= 1280
            page.evaluate(_MEASURE)
            for bucket in range(20, 24):
                for stream in outputs:
                    found.deliver(stream, bucket, "tentative" if bucket > 21 else "stable", [], latency=0.3)
                page.mouse.wheel(0, 300)
                page.wait_for_timeout(500)
            frames = sorted(page.evaluate("window.frames_"))
            typical, slowest = frames[len(frames) // 2], frames[-1]
            # At 60 frames a second one takes 17 ms; the machine of a test has other things to do.
            assert typical < 40 and slowest < 500


_DAYS = """async () => {
    const { Strips } = await import("/static/strips.js");
    const strips = new Strips();
    for (let b = 0; b < 200000; b += 1000)
        strips.add({ alerts: Array.from({ length: 1000 }, (_, n) => ({ b: b + n, k: "stable", n: 1, at: 0 })) });
    return strips.strip("alerts").squares.size;
}"""

_MEASURE = """() => {
    window.frames_ = [];
    let last = performance.now();
    const frame = (now) => { window.frames_.push(now - last); last = now; requestAnimationFrame(frame); };
    requestAnimationFrame(frame);
}"""
