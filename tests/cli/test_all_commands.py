"""What holds of every command: help with examples that parse, JSON, a mistake in words with an exit code, and --debug for more.

A new command is tried without being named here; one of which nothing is required has its mistake in MISTAKES.
"""

from __future__ import annotations

import argparse
import contextlib
import shlex
from pathlib import Path

import pytest

from auroral.cli import make_parser
from cli.conftest import Call

PARSERS: dict[str, argparse.ArgumentParser] = next(
    action.choices for action in make_parser()._actions if isinstance(action, argparse._SubParsersAction)
)
MISTAKES = {
    "boxes": ["--xml", "nowhere"],
    "demo": ["--seconds", "1"],
    "experiments": ["nowhere"],
    "new": ["3 shops"],
    "simulate": ["nowhere.py"],
    "up": ["nowhere.yaml", "--folder", "nowhere"],
}
"""Of commands to which anything can be said, or nothing need be."""
FOR_SHELLS = {"completion"}
"""What they print is a program."""
FINDS_PROBLEMS = {"check"}
"""Those are what it was asked for, and go to standard output."""


def mistake(name: str) -> list[str]:
    """Everything that must be given, and is not there."""
    if name in MISTAKES:
        return MISTAKES[name]
    given: list[str] = []
    for action in PARSERS[name]._actions:
        optional = action.nargs in ("?", "*") or action.default == argparse.SUPPRESS
        if not action.option_strings and not optional:
            given.append("nowhere.py")
        elif action.required and action.option_strings:
            given += [action.option_strings[-1], "nowhere"]
    return given


@pytest.mark.parametrize("name", PARSERS)
def test_help_has_examples_that_are_right(name: str, auroral: Call) -> None:
    ended = auroral(name, "--help")
    assert ended.code == 0 and ended.err == ""
    _, _, examples = ended.out.partition("examples:\n")
    commands = [line.strip() for line in examples.replace("\\\n", " ").splitlines() if line.strip()]
    assert commands
    for command in commands:
        words = shlex.split(command)
        words = words[: words.index(">")] if ">" in words else words
        words = words[words.index("|") + 1 :] if "|" in words else words
        assert words[:2] == ["auroral", name]
        assert make_parser().parse_args(words[1:]).command == name


@pytest.mark.parametrize("name", sorted(PARSERS.keys() - FOR_SHELLS))
def test_machines_can_ask(name: str) -> None:
    assert "--json" in PARSERS[name]._option_string_actions


@pytest.mark.parametrize("name", PARSERS)
def test_every_argument_says_what_it_is(name: str) -> None:
    assert [action.dest for action in PARSERS[name]._actions if not (action.help or action.metavar)] == []


@pytest.mark.parametrize("name", PARSERS)
def test_a_mistake_is_told_in_words(name: str, auroral: Call, tmp_path: Path) -> None:
    ended = auroral(name, *mistake(name))
    assert ended.code in (1, 2), ended
    assert (
        "error: " in (ended.out if name in FINDS_PROBLEMS else ended.err) and "Traceback" not in ended.out + ended.err
    )
    assert "this should not happen" not in ended.err
    assert [path.name for path in tmp_path.iterdir()] == [], "nothing is made by mistake"


@pytest.mark.parametrize("name", PARSERS)
def test_wrong_use_is_told_with_its_own_code(name: str, auroral: Call) -> None:
    ended = auroral(name, "--no-such-option")
    assert ended.code == 2 and ended.err.startswith("usage: auroral") and "Traceback" not in ended.err


@pytest.mark.parametrize("name", sorted(PARSERS.keys() - FINDS_PROBLEMS))
def test_debug_shows_where_before_and_behind_the_command(name: str, auroral: Call) -> None:
    with contextlib.suppress(SystemExit):
        make_parser().parse_args([name, *mistake(name)])
        # What the parser itself refuses needs no traceback.
        for arguments in (["--debug", name, *mistake(name)], [name, *mistake(name), "--debug"]):
            ended = auroral(*arguments)
            assert ended.code in (1, 2) and "Traceback (most recent call last)" in ended.err


def test_without_a_command_there_is_help(auroral: Call) -> None:
    ended = auroral()
    assert ended.code == 0 and all(name in ended.out for name in PARSERS)
    assert auroral("--no-such-option").code == 2 and auroral("nonsense").code == 2
