"""`auroral run` and its kin: what is wrong with the arguments is said before Spark starts."""

import sys
from pathlib import Path

import pytest

from cli.conftest import EXAMPLES, Call

GRID = EXAMPLES / "grid.xml"
NORTH, SOUTH = f"north={EXAMPLES / 'north.csv'}", f"south={EXAMPLES / 'south.csv'}"
BOTH = ("--input", NORTH, "--input", SOUTH)

pytestmark = pytest.mark.usefixtures("no_spark")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "no rows are given for 'north', 'south'"),
        (("--input", NORTH), "no rows are given for 'south'"),
        ((*BOTH, "--input", "west=x.csv"), "unknown input stream 'west'"),
        ((*BOTH, "--input", NORTH), "--input is given twice for 'north'"),
        ((*BOTH, "--output", "deviation=x.csv"), "did you mean 'deviations'?"),
        ((*BOTH, "--late", "east=drop"), "unknown input stream 'east'"),
        ((*BOTH, "--late", "north=forget"), "unknown policy 'forget'"),
        ((*BOTH, "--delay", "north=soon"), "'soon' is not a length of time"),
        ((*BOTH, "--bucket", "fast"), "'fast' is not a length of time"),
        (("--input", "north"), "does not say what to read"),
        (("--input", "north=-", "--input", "south=-"), "standard input is read for two inputs"),
        ((*BOTH, "--diagram", "gird"), "did you mean 'grid'?"),
    ],
)
@pytest.mark.parametrize("command", ["run", "batch"])
def test_wrong_use(command: str, arguments: tuple[str, ...], told: str, auroral: Call) -> None:
    ended = auroral(command, GRID, *arguments)
    assert told in ended.err
    assert ended.code == 2
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--input", "north=nowhere.csv", "--input", SOUTH), "nowhere.csv cannot be read"),
        (("--input", f"north={EXAMPLES / 'oslo.csv'}", "--input", SOUTH), "sec"),
        ((*BOTH, "--output", "deviations=x.doc"), "the format of a .doc output is not known"),
        ((*BOTH, "--output", "deviations=full.csv"), "full.csv is there already"),
        ((*BOTH, "--output", "deviations=full.csv/x.csv"), "it is a file"),
        ((*BOTH, "--bucket", "0s"), "the bucket interval is 0"),
    ],
)
@pytest.mark.parametrize("command", ["run", "batch"])
def test_wrong_input(command: str, arguments: tuple[str, ...], told: str, auroral: Call, tmp_path: Path) -> None:
    (tmp_path / "full.csv").write_text("rows\n")
    ended = auroral(command, GRID, *arguments)
    assert told in ended.err
    assert ended.code == 1
    assert "Traceback" not in ended.err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["full.csv"]


@pytest.mark.parametrize("command", ["run", "batch"])
def test_standard_input_that_is_closed(
    command: str, auroral: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a service, or `<&-`, starts a program: Python has none then."""
    monkeypatch.setattr(sys, "stdin", None)
    ended = auroral(command, GRID, "--input", "north=-", "--input", SOUTH)
    assert "standard input is closed" in ended.err
    assert "next:" in ended.err
    assert (ended.code, list(tmp_path.iterdir())) == (1, [])


def test_run_or_resume(auroral: Call, tmp_path: Path) -> None:
    assert auroral("run").code == 2
    assert "is no run folder" in auroral("run", GRID, "--resume", "r").err
    assert "--flush would change it" in auroral("run", "--resume", "r", "--flush").err
    nothing = auroral("run", "--resume", "r")
    assert nothing.code == 1 and "is no run folder" in nothing.err
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "run.json").touch()
    taken = auroral("run", GRID, *BOTH, "--folder", "r")
    assert taken.code == 2 and "auroral run --resume r" in taken.err


def test_verify_of_no_run_folder(auroral: Call) -> None:
    ended = auroral("verify", "nowhere")
    assert ended.code == 1
    assert "nowhere is no run folder" in ended.err


def test_a_diagram_that_is_wrong(auroral: Call, tmp_path: Path) -> None:
    (tmp_path / "bad.xml").write_text("<borealis><query name='q'>")
    ended = auroral("run", "bad.xml")
    assert ended.code == 1
    assert "bad.xml:1" in ended.err
