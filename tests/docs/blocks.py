"""The blocks of README.md and docs/, and how each is run.

The blocks of one page run in order, in one namespace and one temporary folder:

- `python` is executed;
- `bash` and `console`: lines that begin with `$ auroral` or `$ python` are run and must end with exit code 0, and `$ cd` is gone to; `examples/` is there;
- of `console parsed` the same lines are parsed only: for what needs other machines, or a second deployment beside the page's own;
- of `console tested=FILE` too: that file of tests runs them, with `run_commands`, and looks at what they give;
- `xml` is read with the project's reader and must be a valid diagram, deployment or update, `yaml` a valid deployment;
- `text` and `mermaid` are for reading, and hold no commands of ours; `text shown` is what the block above it prints, where `...` stands for
  whatever may differ from one time to the next.

A page with a notebook beside it is run as that (`test_notebooks`).

A block with `file=NAME` after its language is written to that file first, for the blocks below it. Indented blocks are refused: nobody
would run them.
"""

import doctest
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from markdown_it import MarkdownIt

from auroral.cli import main, make_parser

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

LANGUAGES = {"python", "bash", "console", "xml", "yaml", "text", "mermaid"}
READ_ONLY = {"text", "mermaid"}
# Set-up commands that a page may show and that a test cannot run.
NOT_RUN = {"make", "git", "pip", "export", "scp", "mkdir", "tar"}
# Other programs than `auroral` that are run.
OTHERS = {"python", "cd"}


@dataclass(frozen=True, slots=True)
class Block:
    page: Path
    line: int
    info: str
    text: str

    @property
    def language(self) -> str:
        return self.info.split()[0] if self.info.split() else ""

    @property
    def only_parsed(self) -> bool:
        return "parsed" in self.info.split() or self.tested is not None

    @property
    def tested(self) -> str | None:
        return self._said("tested")

    @property
    def shown(self) -> bool:
        return "shown" in self.info.split()

    @property
    def file(self) -> str | None:
        return self._said("file")

    def _said(self, name: str) -> str | None:
        found = re.search(rf"\b{name}=(\S+)", self.info)
        return found[1] if found else None

    @property
    def place(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks_of(page: Path, text: str | None = None) -> list[Block]:
    tokens = MarkdownIt().parse(page.read_text(encoding="utf-8") if text is None else text)
    return [
        Block(page, token.map[0] + 1, token.info.strip(), token.content)
        for token in tokens
        if token.type == "fence" and token.map is not None
    ]


def commands_of(block: Block) -> list[list[str]]:
    """The commands of a bash or console block: of `auroral` without the program's name, others with it."""
    commands = []
    for line in block.text.replace("\\\n", " ").splitlines():
        prompt = line.startswith("$ ")
        if not prompt and block.language == "console":
            continue  # output of the command above
        for part in line.removeprefix("$ ").split(" && "):
            words = shlex.split(part, comments=True)
            # Where the output goes is the shell's.
            words = words[: words.index(">")] if ">" in words else words
            if not words:
                continue
            if words[0] == "auroral" and prompt:
                commands.append(words[1:])
            elif words[0] in OTHERS and prompt and "parsed" not in block.info.split():
                commands.append(words)
            elif words[0] not in NOT_RUN:
                raise AssertionError(f"{block.place}: {line!r} would go untested; write `$ auroral ...`")
    return commands


def run_commands(block: Block, instead: Mapping[str, str] = MappingProxyType({})) -> None:
    """In the place of some texts, such as an address that may be taken, others stand in the commands."""
    for arguments in commands_of(replace(block, text=otherwise(block.text, instead))):
        if arguments[0] == "python":
            subprocess.run([sys.executable, *arguments[1:]], check=True, timeout=60)
            continue
        if arguments[0] == "cd":
            os.chdir(arguments[1])
            continue
        assert main(arguments) == 0, f"{block.place}: {shlex.join(['auroral', *arguments])}"


def assert_shown(block: Block, printed: str) -> None:
    """That what was printed is what the page shows; blanks at the ends of lines do not count."""
    want, got = (
        "".join(f"{line.rstrip()}\n" for line in text.strip("\n").splitlines()) for text in (block.text, printed)
    )
    right = doctest.OutputChecker().check_output(want, got, doctest.ELLIPSIS)
    assert right, f"{block.place} shows\n{want}\nand this was printed:\n{got}"


def otherwise(text: str, instead: Mapping[str, str]) -> str:
    for old, new in instead.items():
        text = text.replace(old, new)
    return text


def run_block(block: Block, namespace: dict[str, object]) -> None:
    if block.file is not None:
        Path(block.file).write_text(block.text, encoding="utf-8")
    match block.language:
        case "python":
            # Padded with empty lines, so that a traceback shows the page and its line.
            source = "\n" * block.line + block.text
            exec(compile(source, str(block.page), "exec"), namespace)
        case "bash" | "console":
            if not block.only_parsed:
                run_commands(block)
                return
            for arguments in commands_of(block):
                if arguments[0] not in OTHERS:
                    make_parser().parse_args(arguments)
        case "xml":
            from auroral.model.checking import check
            from auroral.model.xml import read_deployment, read_diagram
            from auroral.model.xml.update import is_update, read_update

            if "<deploy" in block.text:
                read_deployment(block.text, block.place)
            elif is_update(block.text.encode(), block.place):
                read_update(block.text.encode(), block.place)
            else:
                check(read_diagram(block.text, block.place).diagram)
        case "yaml":
            from auroral.model.yaml import read_deployment as read_yaml_deployment

            read_yaml_deployment(block.text, block.place)
        case "text" | "mermaid":
            pass
        case other:
            raise AssertionError(f"{block.place}: a fence may not be {other!r}; allowed: {sorted(LANGUAGES)}")
