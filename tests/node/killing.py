"""Runs in child processes that are killed, and what must be true of them afterwards."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import auroral

SOURCE = Path(auroral.__file__).parents[1]
TESTS = Path(__file__).parents[1]


def child(program: str, *arguments: str) -> "subprocess.Popen[str]":
    path = os.pathsep.join([str(SOURCE), str(TESTS), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": path},
        text=True,
    )


def kill_when(process: "subprocess.Popen[str]", lines: int, pause: float = 0.0) -> bool:
    """SIGKILL it after so many lines of output and a pause; False where it had ended by itself."""
    assert process.stdout is not None
    with process:
        for _ in range(lines):
            if not process.stdout.readline():
                break
        time.sleep(pause)
        process.send_signal(signal.SIGKILL)
    return process.returncode == -signal.SIGKILL
