"""Every snippet in README.md and docs/ does what it says; `blocks` says how."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from auroral.model import aggregates
from auroral.model.expression import functions
from docs.blocks import LANGUAGES, PAGES, READ_ONLY, ROOT, Block, assert_shown, blocks_of, commands_of, run_block


@pytest.fixture(autouse=True)
def forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a page registers, and modules that it wrote, are gone after it."""
    monkeypatch.setattr(functions, "_default", functions.default_functions())
    before = dict(aggregates._registered)
    yield
    aggregates._registered.clear()
    aggregates._registered.update(before)
    for name, module in list(sys.modules.items()):
        if Path(getattr(module, "__file__", None) or "/").is_relative_to(tmp_path):
            del sys.modules[name]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_can_be_run_or_is_for_reading(page: Path) -> None:
    unknown = [f"{block.place}: {block.info!r}" for block in blocks_of(page) if block.language not in LANGUAGES]
    assert unknown == [], f"allowed are {sorted(LANGUAGES)}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_stand_where_they_are_run_or_parsed(page: Path) -> None:
    indented = [token.content for token in MarkdownIt().parse(page.read_text()) if token.type == "code_block"]
    assert indented == [], "write a fence with its language"
    for block in blocks_of(page):
        if block.language in READ_ONLY and block.file is None:
            assert not re.search(r"^(\$ )?auroral ", block.text, re.MULTILINE), f"{block.place}: write `console parsed`"
        elif block.only_parsed:
            assert commands_of(block), f"{block.place} has no command to parse"
            run_block(block, {})
            if block.tested is not None:
                said = (ROOT / block.tested).read_text(encoding="utf-8")
                assert page.name in said and "run_commands" in said, f"{block.tested} does not run {block.place}"


WITH_SNIPPETS = [
    page
    for page in PAGES
    if not page.with_suffix(".ipynb").exists()
    and any(block.file or not (block.language in READ_ONLY or block.only_parsed) for block in blocks_of(page))
]


@pytest.mark.spark
@pytest.mark.parametrize("page", WITH_SNIPPETS, ids=lambda page: page.name)
@pytest.mark.usefixtures("interpreted", "commands_share_spark")
def test_snippets(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    # What a page wrote can be imported below, as by a program in that folder.
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    # As `__main__`, functions in a snippet are sent to Spark's workers by value, as in a user's script.
    namespace: dict[str, object] = {"__name__": "__main__"}
    printed = ""
    for block in blocks_of(page):
        if block.shown:
            assert_shown(block, printed)
            continue
        run_block(block, namespace)
        printed = capfd.readouterr().out


class TestTheRunner:
    """The runner itself, on small pages."""

    PAGE = Path("page.md")

    def blocks(self, text: str) -> list[Block]:
        return blocks_of(self.PAGE, text)

    def test_finds_blocks_with_their_lines(self) -> None:
        (first, second) = self.blocks(
            "# A\n\n```python\nx = 1\n```\n\n- item\n\n  ```text file=a.txt\n  hello\n  ```\n"
        )
        assert (first.language, first.line, first.text) == ("python", 3, "x = 1\n")
        assert (second.language, second.file, second.text) == ("text", "a.txt", "hello\n")

    def test_blocks_share_a_namespace(self) -> None:
        namespace: dict[str, object] = {}
        for block in self.blocks("```python\nx = 1\n```\n\n```python\ny = x + 1\n```\n"):
            run_block(block, namespace)
        assert namespace["y"] == 2

    def test_an_error_shows_the_line_of_the_page(self) -> None:
        (block,) = self.blocks("text\n\n```python\nfine = 1\n1 / 0\n```\n")
        with pytest.raises(ZeroDivisionError) as caught:
            run_block(block, {})
        assert caught.traceback[-1].lineno + 1 == 5

    def test_commands(self) -> None:
        (block,) = self.blocks("```console\n$ make demo\n$ auroral run 'a b.xml' \\\n  --flush  # why\nrows 12\n```\n")
        assert commands_of(block) == [["run", "a b.xml", "--flush"]]

    def test_python_programs_are_run(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        write, fail = self.blocks(
            "```console\n$ python -c \"open('a.txt', 'w')\"\n```\n\n```console\n$ python -c 1/0\n```\n"
        )
        run_block(write, {})
        assert (tmp_path / "a.txt").exists()
        with pytest.raises(subprocess.CalledProcessError):
            run_block(fail, {})

    def test_commands_that_are_only_parsed(self) -> None:
        right, wrong = self.blocks(
            "```console parsed\n$ mkdir live && auroral up --folder live\n```\n\n```console parsed\n$ auroral fly\n```\n"
        )
        assert commands_of(right) == [["up", "--folder", "live"]]
        run_block(right, {})
        with pytest.raises(SystemExit):
            run_block(wrong, {})

    def test_where_a_shell_puts_what_is_printed_is_no_argument(self) -> None:
        (block,) = self.blocks("```console parsed\n$ auroral completion bash > a/file\n```\n")
        assert commands_of(block) == [["completion", "bash"]]

    def test_a_command_without_its_prompt_is_refused(self) -> None:
        (block,) = self.blocks("```bash\nauroral demo\n```\n")
        with pytest.raises(AssertionError, match="would go untested"):
            commands_of(block)

    def test_a_file_is_written(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        for block in self.blocks(
            "```text file=a.csv\na,b\n```\n\n```python\nimport os\nos.rename('a.csv', 'seen.csv')\n```\n"
        ):
            run_block(block, {})
        assert (tmp_path / "seen.csv").read_text() == "a,b\n"

    def test_what_is_shown_is_what_was_printed(self) -> None:
        (block,) = self.blocks("```text shown\nin ... s\n3 rows\n```\n")
        assert_shown(block, "in 2.5 s  \n3 rows\n")
        with pytest.raises(AssertionError, match=r"page.md:1 shows(.|\n)*3 rows(.|\n)*was printed(.|\n)*4 rows"):
            assert_shown(block, "in 2.5 s\n4 rows\n")

    def test_an_unknown_language_is_refused(self) -> None:
        (block,) = self.blocks("```perl\n1\n```\n")
        with pytest.raises(AssertionError, match="a fence may not be 'perl'"):
            run_block(block, {})
