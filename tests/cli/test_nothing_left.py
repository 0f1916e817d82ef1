"""Commands that end, by an error and by Ctrl-C in the middle of a job, leave no temporary folder: processes, real Spark."""

import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from cli.conftest import PROGRAM, Call

pytestmark = pytest.mark.spark

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
RUN = ("run", "d.py", "--input", "s=s.csv", "--output", "m=m.csv")
BATCH = ("batch", "d.py", "--input", "s=s.csv", "--output", "m=m.csv")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "d.py").write_text(SLOW_OR_FAILS.format(place=str(tmp_path)))
    (tmp_path / "s.csv").write_text("ts,v\n" + "".join(f"{at},{at}\n" for at in range(500)))
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    return place


def left(temporary: Path) -> list[str]:
    return [path.name for path in temporary.glob("auroral-*")]


def interrupted(folder: Path, number: int, *arguments: str) -> int:
    """The exit code of a command that is interrupted once its job has begun."""
    (folder / "began").unlink(missing_ok=True)
    with subprocess.Popen(
        [*PROGRAM, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        for _ in range(1200):
            if (folder / "began").exists() or process.poll() is not None:
                break
            threading.Event().wait(0.1)
        process.send_signal(number)
        said, _ = process.communicate(timeout=60)
    assert (folder / "began").exists(), said
    return process.returncode


def test_after_errors_and_interrupts(process: Call, tmp_path: Path, temporary: Path) -> None:
    ran = process(*RUN, "--folder", "r")
    assert ran.code == 0 and left(temporary) == [], ran.err

    (tmp_path / "slow").touch()
    assert interrupted(tmp_path, signal.SIGINT, "verify", "r") == 130
    assert left(temporary) == []
    (tmp_path / "m.csv").unlink()
    (tmp_path / "m.csv.commit").unlink()
    assert interrupted(tmp_path, signal.SIGTERM, *BATCH) == 130
    assert left(temporary) == [] and not (tmp_path / "m.csv").exists()
    (tmp_path / "slow").unlink()

    (tmp_path / "fail").touch()
    for command in (("verify", "r"), BATCH, ("check", "--determinism", "d.py"), (*RUN, "--folder", "r2")):
        failed = process(*command)
        assert failed.code == 1 and "as it was told" in failed.err + failed.out, failed.err
        assert left(temporary) == [], command
    assert os.path.exists(tmp_path / "r2/run.json"), "it can be resumed"
