"""Child processes that write and are killed in the middle, file systems that are too small, and rights taken away."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import auroral

SOURCE = Path(auroral.__file__).parents[1]
_NOBODY = 65534


def killed_after(program: str, arguments: list[str], acknowledgements: int, pause_us: int) -> int:
    """Run a program that prints a number after each write; SIGKILL it. Gives the last number printed."""
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    child = subprocess.Popen(
        [sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, env=environment, text=True
    )
    assert child.stdout is not None
    last = -1
    with child:
        for _ in range(acknowledgements):
            line = child.stdout.readline()
            assert line, "the child ended by itself"
            last = int(line)
        # Somewhere inside the next write: where exactly is left to chance, and every place must be fine.
        for _ in range(pause_us):
            pass
        child.send_signal(signal.SIGKILL)
        for line in child.stdout:
            last = int(line) if line.endswith("\n") else last
    assert child.returncode == -signal.SIGKILL
    return last


def moments(seed: int, count: int) -> list[tuple[int, int]]:
    """How many acknowledgements to wait for, and how long to spin then."""
    rng = random.Random(seed)
    return [(rng.randint(1, 6), rng.randint(0, 120_000)) for _ in range(count)]


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A file system of its own that is soon full."""
    folder.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True, text=True
    )
    if mount.returncode:
        pytest.skip(f"needs the right to mount a tmpfs to have a full disk: {mount.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@contextmanager
def without_privileges() -> Iterator[None]:
    """Root may read every file, and often runs the tests: for a moment it is somebody who may not."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
