"""Write the notebooks of the tutorials from their pages, or with --check only say whether they are up to date.

A page is the one source: its text becomes cells of text, and its blocks become

- `python`: a cell that is run;
- anything with `file=NAME`: a cell that writes that file;
- `console`: a cell that runs its commands;
- what the page says was printed (`text shown`): nothing, since the cell above prints it itself;
- all other blocks, such as `console parsed`: text.

Notebooks are kept without outputs. Those would change with every run, and hide in each change what was changed; the page shows them, and
the tests, which run the notebooks, compare.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from markdown_it import MarkdownIt
from markdown_it.token import Token

TUTORIALS = Path(__file__).parents[1] / "docs" / "tutorials"
PAGES = tuple(TUTORIALS / name for name in ("csv-files.md", "two-sites.md"))


def notebook(page: str) -> Any:
    """The notebook of a page's text."""
    lines = page.splitlines(keepends=True)
    made: list[Any] = []
    text: list[str] = []

    def flush() -> None:
        said = "".join(text).strip("\n")
        text.clear()
        if said:
            made.append(nbformat.v4.new_markdown_cell(said, id=f"cell-{len(made)}"))

    begun = 0
    for token, lo, hi in _fences(page):
        text += lines[begun:lo]
        begun = hi
        words = token.info.split()
        source = _source(token, words)
        if source is not None:
            flush()
            made.append(nbformat.v4.new_code_cell(source.rstrip("\n"), id=f"cell-{len(made)}"))
        elif "shown" not in words:
            text += lines[lo:hi]
    text += lines[begun:]
    flush()
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return nbformat.v4.new_notebook(cells=made, metadata=about)


def _fences(page: str) -> Iterator[tuple[Token, int, int]]:
    """Blocks of a page, each with the lines that it takes."""
    for token in MarkdownIt().parse(page):
        if token.type == "fence" and token.map is not None:
            yield token, *token.map


def _source(token: Token, words: list[str]) -> str | None:
    """What is in the cell of a block; None if it is not to be run."""
    for word in words:
        if word.startswith("file="):
            return f"%%writefile {word.removeprefix('file=')}\n{token.content}"
    if words == ["python"]:
        return token.content
    if words == ["console"]:
        # Ends at the first command that fails, and then the cell has failed.
        return "%%bash -e\n" + "".join(
            line.removeprefix("$ ") for line in token.content.splitlines(keepends=True) if line.startswith(("$ ", "  "))
        )
    return None


def text_of(page: Path) -> str:
    return nbformat.writes(notebook(page.read_text(encoding="utf-8"))) + "\n"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if a notebook is out of date")
    check = parser.parse_args(argv).check
    outdated = 0
    for page in PAGES:
        file, text = page.with_suffix(".ipynb"), text_of(page)
        if file.exists() and file.read_text(encoding="utf-8") == text:
            continue
        outdated += 1
        if not check:
            file.write_text(text, encoding="utf-8")
        print(f"{'out of date: run `make docs`' if check else 'wrote'} {file.name}")
    return 1 if check and outdated else 0


if __name__ == "__main__":
    sys.exit(main())
