"""With no more installed than the package itself asks for, outputs can be read; and whoever wants more is told how."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

import auroral
from auroral.installed import TO_RUN

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment that has what `dependencies` name, and nothing else."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        dependencies = tomllib.load(file)["project"]["dependencies"]
    place = tmp_path_factory.mktemp("bare")
    for name in [re.split(r"\W", requirement)[0] for requirement in dependencies]:
        spec = find_spec(name)
        assert spec is not None and spec.origin is not None
        for found in Path(spec.origin).parents[1].glob(f"{name}*"):
            (place / found.name).symlink_to(found)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(auroral.__file__).parents[1]), str(place)])}


def python(code: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    # Without the packages that are installed.
    return subprocess.run(
        [sys.executable, "-S", "-c", code], env=environment, capture_output=True, text=True, check=False
    )


def test_outputs_can_be_read(bare: dict[str, str]) -> None:
    done = python("import auroral.client; auroral.client.connect('127.0.0.1:1', 'token', patience=0)", bare)
    assert "Unreachable: nobody answers at 127.0.0.1:1" in done.stderr


@pytest.mark.parametrize("command", ["up", "run"])
def test_a_command_says_what_is_missing(bare: dict[str, str], command: str) -> None:
    code = f"import sys; sys.argv = ['auroral', {command!r}]; from auroral.__main__ import main; sys.exit(main())"
    done = python(code, bare)
    assert done.returncode == 1
    assert done.stderr == (
        f"error: auroral {command} needs {', '.join(TO_RUN)}, which are not installed\n"
        "    allowed: without them, auroral.client reads the outputs of a deployment\n"
        "    next: pip install 'auroral[spark]'\n"
    )


def test_a_program_is_told_too(bare: dict[str, str]) -> None:
    done = python("import auroral; auroral.diagram('d'); auroral.run", bare)
    assert "NotInstalled: auroral.run needs pyspark" in done.stderr


def test_the_program_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "auroral", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("auroral ")
