"""A run on a real pseudo-terminal: the table that is drawn again and again, its bar, and Ctrl-C typed on it."""

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
LIVE = """
import auroral

d = auroral.diagram("watch", bucket="1s")
d.input("s", "ts long, v long", stime="ts", unit="s").filter("f", "v >= 0").output("out")
"""
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def started(folder: Path, *arguments: str, on: int) -> subprocess.Popen[bytes]:
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)])}
    return subprocess.Popen(
        [sys.executable, "-m", "cli.on_terminal", *arguments],
        cwd=folder,
        env=env | {"TERM": "xterm", "COLUMNS": "100", "LINES": "40"},
        stdin=on,
        stdout=on,
        stderr=on,
        start_new_session=True,
    )


class Terminal:
    """The program on a terminal of its own."""

    def __init__(self, folder: Path, *arguments: str):
        self.fd, other = pty.openpty()
        self.process = started(folder, *arguments, on=other)
        os.close(other)
        self.said = ""

    def until(self, text: str) -> None:
        deadline = time.monotonic() + 60
        while text not in CONTROL.sub("", self.said):
            assert time.monotonic() < deadline, f"{text!r} was never shown: {self.said!r}"
            assert self.read(), f"ended without {text!r}: {self.said!r}"

    def read(self) -> bool:
        """More of what is shown; False at the end."""
        if not select.select([self.fd], [], [], 30)[0]:
            return False
        try:
            shown = os.read(self.fd, 65536)
        except OSError:
            # What Linux says when the program at the other end is gone.
            return False
        self.said += shown.decode(errors="replace")
        return bool(shown)

    def type(self, keys: bytes) -> None:
        os.write(self.fd, keys)

    def end(self) -> int:
        while self.read():
            pass
        os.close(self.fd)
        return self.process.wait(60)


@pytest.fixture
def run_arguments(tmp_path: Path) -> list[str]:
    (tmp_path / "d.py").write_text(LIVE)
    (tmp_path / "s.csv").write_text("ts,v\n" + "".join(f"{at},{at}\n" for at in range(50)))
    return ["run", "d.py", "--input", "s=s.csv", "--output", "out=out.csv", "--folder", "r"]


@pytest.mark.slow
def test_a_table_is_drawn_in_its_own_place_until_the_run_has_finished(tmp_path: Path, run_arguments: list[str]) -> None:
    terminal = Terminal(tmp_path, *run_arguments)
    assert terminal.end() == 0, terminal.said
    shown = CONTROL.sub("", terminal.said)
    for text in ("run of watch, ", "50 rows logged", "output out", "100 %", "finished; next: auroral verify r"):
        assert text in shown, text
    percent = [int(found) for found in re.findall(r"(\d+) %", shown)]
    assert percent == sorted(percent) and len(set(percent)) >= 3, "the bar moves"
    # Up over the lines of the table before, and out with each.
    assert terminal.said.count("\x1b[1A\x1b[2K") > 20
    assert "\x1b[?25l" in terminal.said and terminal.said.rstrip().rfind("\x1b[?25h") > terminal.said.rfind("\x1b[?25l")
    with (tmp_path / "said").open("wb") as file:
        plain = started(tmp_path, *run_arguments[:4], "--folder", "r2", on=file.fileno())
        assert plain.wait(60) == 0
    assert b"\x1b" not in (tmp_path / "said").read_bytes(), "no table where nobody looks"


@pytest.mark.slow
def test_ctrl_c_on_the_keyboard(tmp_path: Path, run_arguments: list[str]) -> None:
    terminal = Terminal(tmp_path, *run_arguments)
    terminal.until("evaluating 10 buckets")
    terminal.type(b"\x03")
    terminal.until("stopping after this job; press Ctrl-C again to stop now")
    assert terminal.end() == 0
    shown = CONTROL.sub("", terminal.said)
    assert "stopped, nothing is lost; go on with: auroral run --resume r" in shown
    assert "\x1b[?25h" in terminal.said, "the cursor is back"
    again = Terminal(tmp_path, "run", "--resume", "r")
    assert again.end() == 0
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 51
