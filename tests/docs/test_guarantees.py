"""The pages on guarantees speak of all that is checked, and of tests and measurements that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bench.__main__ import BENCHMARKS

from auroral.sim.invariants import INVARIANTS
from docs.blocks import ROOT

INDEX = ROOT / "docs" / "guarantees.md"
PAGES = sorted((ROOT / "docs" / "guarantees").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_page_says_what_is_not_promised_and_how_it_is_checked(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert f"](guarantees/{page.name})" in INDEX.read_text(encoding="utf-8")
    promise, refused, checked = re.split(
        r"^## (?:What it does not promise|How it is checked)$", text, flags=re.MULTILINE
    )
    assert promise.count("**") == 2 and len(re.findall(r"^- ", refused, re.MULTILINE)) >= 3
    files = re.findall(r"`((?:tests|faults)/\S+?\.py)`", checked)
    assert files and [file for file in files if not (ROOT / file).exists()] == []
    assert set(re.findall(r"make bench ARGS=(\w+)", checked)) <= set(BENCHMARKS)
    named = set(re.search(r"in every simulation \| (.*) \|", checked)[1].replace("`", "").split(", "))
    assert named and named <= {check.__name__ for check in INVARIANTS}


def test_every_invariant_is_of_some_guarantee() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [check.__name__ for check in INVARIANTS if f"`{check.__name__}`" not in text] == []
