"""A real browser on the page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

IMAGES = Path(__file__).parents[2] / "docs" / "images"
TAKE = "AURORAL_SCREENSHOTS"
"""An environment variable: with it, pictures of the page are written for the docs."""
_FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
]


def chromium() -> str:
    """Skips the test where there is none."""
    found = next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )
    if found is None:
        pytest.skip("there is no Chromium on this machine: apt install chromium")
    return found


@contextmanager
def browsing() -> Iterator[Browser]:
    program = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=_FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Browser, address: str, refused: bool = False, **how: Any) -> Iterator[Page]:
    """The page; nothing may go wrong in it, nor be asked for elsewhere. With `refused`, the browser must say that a request of its was."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, "locale": "en-GB", **how})
    page, wrong = context.new_page(), list[str]()
    page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "request", lambda asked: None if asked.url.startswith(address.partition("/?")[0]) else wrong.append(asked.url)
    )
    page.set_default_timeout(15_000)
    page.goto(address)
    try:
        yield page
    finally:
        context.close()
    said = [text for text in wrong if "403 (Forbidden)" in text]
    assert bool(said) == refused
    assert [text for text in wrong if text not in said] == []


def picture(page: Page, name: str, **how: Any) -> None:
    if TAKE in os.environ:
        IMAGES.mkdir(exist_ok=True)
        page.mouse.move(0, 0)
        # Colours change gently.
        page.wait_for_timeout(1000)
        page.screenshot(path=IMAGES / f"{name}.png", **how)
