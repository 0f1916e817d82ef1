"""Calling the program: in this process, with the Spark of all tests or with none, or in one of its own."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from auroral.cli import main

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PROGRAM = [sys.executable, "-m", "auroral.cli"]


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    out: str
    err: str


Call = Callable[..., Ended]


@pytest.fixture
def auroral(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """The program, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def call(*arguments: str | Path) -> Ended:
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Ended(code, captured.out, captured.err)

    return call


@pytest.fixture
def shared(auroral: Call, commands_share_spark: None) -> Call:
    """The program in this process, with the session of all tests."""
    return auroral


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails the test if Spark is started."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("Spark was started")

    for command in ("run", "batch", "verify"):
        monkeypatch.setattr(f"auroral.commands.{command}.session_for", refuse)


@pytest.fixture
def process(tmp_path: Path) -> Call:
    """The program as a process of its own, in an empty folder."""

    def call(*arguments: str | Path) -> Ended:
        command = [*PROGRAM, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=tmp_path, env=dict(os.environ))
        return Ended(done.returncode, done.stdout, done.stderr)

    return call
