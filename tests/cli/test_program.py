"""The program as a whole: help, version, exit codes, and errors without tracebacks."""

from types import ModuleType

import pytest

from auroral import cli
from auroral.model.errors import AuroralError
from cli.conftest import Call


def test_alone_it_prints_help(auroral: Call) -> None:
    ended = auroral()
    assert ended.code == 0
    for module in cli.COMMANDS:
        assert module.NAME in ended.out


def test_version(auroral: Call) -> None:
    ended = auroral("--version")
    assert (ended.code, ended.out.split()[0]) == (0, "auroral")


@pytest.mark.parametrize("module", cli.COMMANDS, ids=lambda module: module.NAME)
def test_each_command_has_help_with_an_example_and_says_what_lives_there(module: ModuleType, auroral: Call) -> None:
    ended = auroral(module.NAME, "--help")
    assert ended.code == 0
    assert f"examples:\n  auroral {module.NAME}" in ended.out
    assert module.__doc__ is not None and f"`auroral {module.NAME}" in module.__doc__


@pytest.mark.parametrize("arguments", [["fly"], ["check"], ["run", "--speed", "9"], ["demo", "--seconds", "0"]])
def test_wrong_use_is_2(arguments: list[str], auroral: Call) -> None:
    ended = auroral(*arguments)
    assert ended.code == 2
    assert "usage:" in ended.err


def _raising(error: BaseException) -> object:
    def run(_: object) -> int:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "code"),
    [(AuroralError("the cable is out"), 1), (KeyboardInterrupt(), 130), (ZeroDivisionError("by zero"), 1)],
)
def test_errors_have_no_traceback_unless_asked_for(
    error: BaseException, code: int, auroral: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("auroral.commands.verify.run", _raising(error))
    plain = auroral("verify", "somewhere")
    assert plain.code == code
    assert "Traceback" not in plain.err
    assert str(error) in plain.err
    debugged = auroral("verify", "somewhere", "--debug")
    assert debugged.code == code
    assert "Traceback" in debugged.err
