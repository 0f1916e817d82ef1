"""Commands that end, by an error and by Ctrl-C in the middle of a job, leave no temporary folder: with real Spark."""

import signal
import subprocess
import threading
from pathlib import Path

import pytest

from cli.conftest import PROGRAM, Call

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

# Quick until a file says otherwise; then each row takes a second, and the first one says that the job has begun.
SLOW_OR_FAILS = """
import pathlib, time
import auroral

@auroral.function("long -> long")
def judged(v):
    place = pathlib.Path({place!r})
    if (place / "fail").exists():
        raise ValueError("as it was told")
    if (place / "slow").exists():
        (place / "began").touch()
        time.sleep(1)
    return v

d = auroral.diagram("d", bucket="1s")
d.input("s", "ts long, v long", stime="ts", unit="s").map("m", {{"v": "judged(v)"}}).output()
"""
ROWS = ("--input", "s=s.csv", "--output", "m=m.csv")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made, by this process and by others."""
    (tmp_path / "d.py").write_text(SLOW_OR_FAILS.format(place=str(tmp_path)))
    (tmp_path / "s.csv").write_text("ts,v\n" + "".join(f"{at},{at}\n" for at in range(500)))
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr("tempfile.tempdir", str(place))
    return place


def left(temporary: Path) -> list[str]:
    return [path.name for path in temporary.glob("auroral-*")]


def test_after_errors(shared: Call, tmp_path: Path, temporary: Path) -> None:
    ran = shared("run", "d.py", *ROWS, "--folder", "r")
    assert ran.code == 0 and left(temporary) == [], ran.err
    (tmp_path / "fail").touch()
    for command in (("verify", "r"), ("batch", "d.py", *ROWS[:2]), ("run", "d.py", *ROWS[:2], "--folder", "r2")):
        failed = shared(*command)
        assert failed.code == 1 and "as it was told" in failed.err, failed.err
        assert left(temporary) == [], command


def test_after_ctrl_c_in_the_middle_of_a_job(shared: Call, tmp_path: Path, temporary: Path) -> None:
    assert shared("run", "d.py", *ROWS, "--folder", "r").code == 0
    (tmp_path / "slow").touch()
    with subprocess.Popen(
        [*PROGRAM, "verify", "r"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        for _ in range(1200):
            if (tmp_path / "began").exists() or process.poll() is not None:
                break
            threading.Event().wait(0.1)
        within = left(temporary)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in said, said
    assert [name[:15] for name in within] == ["auroral-verify-"]
    assert left(temporary) == []
