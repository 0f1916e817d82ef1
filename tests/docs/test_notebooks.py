"""The tutorials that are notebooks too: those are what the pages say, and do what the pages show."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import make_notebooks
from auroral.cli import main
from auroral.node.fleet.processes import free_ports
from docs.blocks import assert_shown, blocks_of, otherwise, run_commands

CSV_FILES, TWO_SITES = make_notebooks.PAGES
assert (CSV_FILES.name, TWO_SITES.name) == ("csv-files.md", "two-sites.md")
SECONDS = 180
"""For one cell, on a machine that has other things to do."""


@pytest.mark.parametrize("page", make_notebooks.PAGES, ids=lambda page: page.name)
def test_a_notebook_is_its_page_and_has_no_outputs(page: Path) -> None:
    text = page.with_suffix(".ipynb").read_text(encoding="utf-8")
    assert text == make_notebooks.text_of(page), "run `make docs`"
    assert not any(cell.get("outputs") for cell in nbformat.reads(text, as_version=4).cells)


def test_every_notebook_has_a_page() -> None:
    assert set(make_notebooks.TUTORIALS.glob("*.ipynb")) == {
        page.with_suffix(".ipynb") for page in make_notebooks.PAGES
    }


def test_what_becomes_of_blocks() -> None:
    page = (
        "# A\n\n```python\nx = 1\nprint(x)\n```\n\n```text shown\n1\n```\n\n```text\nas it is\n```\n\nmore\n\n"
        "```csv file=a.csv\nb\n1\n```\n\n```console\n$ auroral run \\\n  a.py\n12 rows\n```\n\n```console parsed\n$ auroral ui\n```\n"
    )
    assert [(cell.cell_type, cell.source) for cell in make_notebooks.notebook(page).cells] == [
        ("markdown", "# A"),
        ("code", "x = 1\nprint(x)"),
        ("markdown", "```text\nas it is\n```\n\nmore"),
        ("code", "%%writefile a.csv\nb\n1"),
        ("code", "%%bash -e\nauroral run \\\n  a.py"),
        ("markdown", "```console parsed\n$ auroral ui\n```"),
    ]


def run_notebook(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, instead: Mapping[str, str]) -> None:
    """In a kernel of its own, with this Python and its programs; what each cell prints is what the page shows behind it."""
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    ran = nbformat.read(page.with_suffix(".ipynb"), as_version=4)
    for cell in ran.cells:
        cell.source = otherwise(cell.source, instead)
    NotebookClient(ran, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    printed = [
        "".join(output.text for output in cell.outputs if output.get("name") == "stdout")
        for cell in ran.cells
        if cell.cell_type == "code"
    ]
    number, compared = -1, 0
    for block in blocks_of(page):
        if block.shown:
            assert_shown(block, printed[number])
            compared += 1
        elif block.file is not None or block.info in ("python", "console"):
            number += 1
    assert number == len(printed) - 1 and compared > 3


@pytest.mark.spark
@pytest.mark.usefixtures("interpreted", "commands_share_spark")
def test_my_csv_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what its page has for a terminal, with the files that the notebook wrote."""
    run_notebook(CSV_FILES, tmp_path, monkeypatch, {})
    monkeypatch.chdir(tmp_path)
    (block,) = (block for block in blocks_of(CSV_FILES) if block.tested)
    run_commands(block)
    assert (tmp_path / "totals.csv").read_text().count("\n") == 9


@pytest.mark.spark
@pytest.mark.slow
def test_two_sites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A deployment that is cut in two, healed, and proved."""
    first, second = free_ports(2)
    try:
        run_notebook(TWO_SITES, tmp_path, monkeypatch, {"15600": str(first), "15700": str(second)})
    finally:
        if (tmp_path / "live").exists():
            assert main(["down", "--folder", str(tmp_path / "live")]) == 0
