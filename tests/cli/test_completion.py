"""`auroral completion`: the scripts complete what the parser takes, in a real shell."""

from __future__ import annotations

import argparse
import os
import pty
import re
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from auroral.commands.completing import SHELLS, described
from cli.conftest import Call
from cli.test_all_commands import PARSERS


@pytest.fixture
def script(auroral: Call, tmp_path: Path) -> Path:
    ended = auroral("completion", "bash")
    assert ended.code == 0
    (tmp_path / "auroral.bash").write_text(ended.out)
    return tmp_path / "auroral.bash"


def offered(script: Path, *lines: str) -> list[list[str]]:
    """What bash would offer behind each line, as readline calls the function."""
    asked = [f"source {script}"]
    for line in lines:
        words = line.split(" ")
        asked.append(f"COMP_WORDS=({' '.join(repr(word) for word in words)}); COMP_CWORD={len(words) - 1}")
        asked.append('_auroral auroral; echo "${COMPREPLY[*]}"')
    # Outside of a completion there are no options of it to be set.
    text = "compopt() { :; }\n" + "\n".join(asked)
    done = subprocess.run(["bash", "--norc", "-c", text], capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == ""
    return [line.split() for line in done.stdout.split("\n")[: len(lines)]]


def test_bash_offers_all_that_the_parser_takes(script: Path) -> None:
    names = list(PARSERS)
    commands, *options = offered(script, "auroral ", *(f"auroral {name} -" for name in names))
    assert set(commands) == {*names, "-h", "--help", "--version", "--debug"}
    for name, found in zip(names, options, strict=True):
        assert set(found) == set(PARSERS[name]._option_string_actions)


def test_bash_offers_choices(script: Path) -> None:
    by_command = {
        (name, string): action.choices
        for name, parser in PARSERS.items()
        for action in parser._actions
        for string in action.option_strings
        if action.choices
    }
    assert by_command, "some option has choices"
    found = offered(script, *(f"auroral {name} {string} " for name, string in by_command))
    for choices, given in zip(by_command.values(), found, strict=True):
        assert given == [str(choice) for choice in choices or ()]
    places = offered(
        script, "auroral completion ", "auroral --debug completion z", "auroral top --sort st", "auroral ver"
    )
    assert places == [["bash", "zsh", "fish"], ["zsh"], ["state"], ["verify"]]


@pytest.mark.slow
def test_with_the_tab_key(script: Path, tmp_path: Path) -> None:
    (tmp_path / "runs" / "live").mkdir(parents=True)
    (tmp_path / "rows.csv").touch()
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "dumb", "PS1": "> ", "INPUTRC": "/dev/null"}
    bash = ["bash", "--norc", "--noprofile", "-i"]
    with subprocess.Popen(
        bash, stdin=slave, stdout=slave, stderr=slave, cwd=tmp_path, env=environment, start_new_session=True
    ) as shell:
        try:
            typed(master, f"source {script}; echo read''y\n", "ready")
            for begun, ends in (
                ("auroral verif", "auroral verify "),
                ("auroral top --so", "auroral top --sort "),
                ("auroral top --sort me", "--sort memory "),
                ("auroral report ru", "auroral report runs/"),
                ("auroral status --folder ru", "--folder runs/"),
                ("auroral run examples.py --input packets=ro", "packets=rows.csv "),
            ):
                typed(master, f"\x15{begun}\t", ends)
        finally:
            shell.kill()
    os.close(master)
    os.close(slave)


def typed(master: int, text: str, awaited: str) -> None:
    os.write(master, text.encode())
    said, until = "", time.monotonic() + 20
    while awaited not in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x07|\r", "", said):
        assert time.monotonic() < until, f"{awaited!r} did not come: {said!r}"
        if select.select([master], [], [], 0.2)[0]:
            said += os.read(master, 4096).decode(errors="replace")


def test_zsh_and_fish_have_every_command_and_option(auroral: Call) -> None:
    for shell in ("zsh", "fish"):
        text = auroral("completion", shell).out
        for name, parser in PARSERS.items():
            assert re.search(rf"\b{name}\b", text)
            for option in parser._option_string_actions:
                assert (
                    option if shell == "zsh" else f"-{'l' if option[1] == '-' else 's'} {option.lstrip('-')}"
                ) in text


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_it(shell: str, auroral: Call, tmp_path: Path) -> None:
    if (program := shutil.which(shell)) is None:
        pytest.skip(f"there is no {shell} on this machine")
    (tmp_path / "script").write_text(auroral("completion", shell).out)
    subprocess.run([program, "-n", tmp_path / "script"], check=True, timeout=60)


def test_words_of_help_cannot_break_out_of_a_script() -> None:
    parser = argparse.ArgumentParser()
    below = parser.add_subparsers()
    odd = below.add_parser("odd", help="it's [odd]: 'quite' \\ $(so)")
    odd.add_argument("--way", help="that's [it] $(date) `x`", choices=["a", "b"])
    commands = described(parser)
    for name, write in SHELLS.items():
        text = write(commands)
        if (program := shutil.which(name)) is not None:
            subprocess.run([program, "-n"], input=text, text=True, check=True, timeout=60)
    assert "it'\\''s [odd]'" in SHELLS["zsh"](commands) and "it\\'s [odd]'" in SHELLS["fish"](commands)


def test_another_shell_is_wrong_use(auroral: Call) -> None:
    ended = auroral("completion", "tcsh")
    assert ended.code == 2 and "bash" in ended.err
