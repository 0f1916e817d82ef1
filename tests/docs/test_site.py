"""The site of the documentation is built without a warning, has every page, and would not be built with a link that leads nowhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs.blocks import ROOT, blocks_of


def built(folder: Path) -> tuple[int, str]:
    """From the sources in `folder`, with the arguments of `make site`."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(folder / "mkdocs.yml")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return ended.returncode, ended.stderr


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy: what is built there does not lie about in the project."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", folder / "docs")
    for file in ("mkdocs.yml", "tools/site_hooks.py"):
        (folder / file).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / file, folder / file)
    return folder


@pytest.mark.slow
def test_it_is_built_without_a_warning_and_has_every_page(sources: Path) -> None:
    code, said = built(sources)
    assert (code, re.findall(r"^(?!INFO).*\S.*$", said, re.MULTILINE)) == (0, []), said
    for page in (ROOT / "docs").rglob("*.md"):
        made = (
            (sources / "build/site" / page.relative_to(ROOT / "docs")).with_suffix(".html").read_text(encoding="utf-8")
        )
        body = made[made.index('role="main"') :]
        assert body.count("<pre><code") == len(blocks_of(page)), f"{page.name}: a block is not shown as one"
        assert not re.search(r"^(\||- )", re.sub(r"<pre>.*?</pre>", "", body, flags=re.DOTALL), re.MULTILINE), page.name


@pytest.mark.slow
@pytest.mark.parametrize("wrong", ["[a page](gone.md)", "[a part](concepts.md#gone)", "[a file](../gone.py)"])
def test_a_link_that_leads_nowhere_is_an_error(wrong: str, sources: Path) -> None:
    page = sources / "docs" / "wire.md"
    before = page.read_text(encoding="utf-8")
    page.write_text(f"{before}\n{wrong}\n", encoding="utf-8")
    try:
        code, said = built(sources)
    finally:
        page.write_text(before, encoding="utf-8")
    (warning,) = re.findall(r"^WARNING.*", said, re.MULTILINE)
    assert code == 1 and "wire.md" in warning and "gone" in warning
