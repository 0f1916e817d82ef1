"""A disk that is full, on whole processes: who cannot write waits, the others go on, and nothing is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from faults.deployment import Senders, closed, deployed, frontier, right_in_the_end, until


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Under what is in the folder; gives a file that fills it. Only root may have one."""
    kept = folder.with_name(f"{folder.name}.kept")
    shutil.copytree(folder, kept)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no small disk can be had here: {mounted.stderr.decode().strip()}")
    try:
        shutil.copytree(kept, folder, dirs_exist_ok=True)
        yield folder / "ballast"
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def fill(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue


LAST_PAGE = 300
"""Rows that may still fit where a file ends."""


@pytest.mark.parametrize(
    ("name", "folder"),
    [("counta", "nodes/counta"), ("mergea", "nodes/mergea"), ("east", "sources/east"), ("client", "outputs")],
)
def test_a_full_disk(tmp_path: Path, spark: Any, name: str, folder: str) -> None:
    with deployed(tmp_path / "live") as fleet:
        senders = Senders(fleet)
        until("it begins", lambda: frontier(fleet) > 3)
        fleet.kill(name)
        with small_disk(fleet.deployed.folder / folder) as ballast:
            fleet.up(lambda _: None)
            before = frontier(fleet)
            until("it goes on with the small disk", lambda: frontier(fleet) > before + 3)
            fill(ballast)
            time.sleep(1)
            full_at, sent = closed(fleet), dict(senders.sent)
            time.sleep(8)
            assert fleet.lives(name), "it waits"
            if name in sent:
                # What cannot be logged is not taken, and whoever sends it is told.
                assert senders.sent[name] - sent[name] < LAST_PAGE
            elif name == "client":
                assert "the disk is full" in fleet.log(name).read_text()
            else:
                until("the others go on", lambda: frontier(fleet) > full_at + 3)
                assert "the disk is full" in fleet.log(name).read_text()
            os.unlink(ballast)
            # Of a node, its replica answers.
            right_in_the_end(fleet, spark, senders, answered=name in fleet.deployed.nodes)
