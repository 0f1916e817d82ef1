"""What is seen of a deployment while things happen to it: what was delivered and when, how much memory processes took, and which there were."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from auroral.node.fleet.control import NoAnswer
from auroral.node.fleet.processes import Fleet

EVERY = 0.3
GONE_WITHIN = 20.0
MOST_PYTHON, MOST_JVM = 600e6, 2.2e9
"""Bytes of memory that a process may take. What is kept for others while things fail is a few megabytes here; a JVM of Spark has a heap of
1 GB, and as much again for code, threads and buffers."""


class Delivered(NamedTuple):
    at: float
    bucket: int
    kind: str


class Watch:
    """Looks for as long as it is open."""

    def __init__(self, fleet: Fleet, stream: str = "sums"):
        self.fleet, self.stream = fleet, stream
        self.delivered: list[Delivered] = []
        self.memory: dict[str, float] = {}
        """The most that each process took."""
        self.sessions: set[int] = set()
        """Each process begins a session of its own, which all that it starts is in."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join(30)

    def latest(self) -> list[str]:
        """The new answers that came last after their bucket, for who wonders when that was."""
        settings, first, newest = self.fleet.deployed.settings, self.fleet.deployed.first, -1
        found: list[tuple[float, str]] = []
        for one in self.delivered:
            if one.bucket > newest:
                # Those that were passed over came with it.
                late = one.at - (first + newest + 2) * settings.bucket
                found.append(
                    (
                        late,
                        f"bucket {one.bucket} ({one.kind}) {late:.1f} s after the end of bucket {newest + 1}, at {one.at:.1f}",
                    )
                )
                newest = one.bucket
        return [words for _, words in sorted(found, reverse=True)[:5]]

    def must_be_bounded(self) -> None:
        """Memory."""
        assert self.memory, "nothing was measured"
        for name, bytes_ in self.memory.items():
            has_jvm = name == "spark" or (name in self.fleet.deployed.nodes and not self.fleet.deployed.sharing)
            most = MOST_PYTHON + (MOST_JVM if has_jvm else 0)
            assert bytes_ <= most, f"{name} took {bytes_ / 1e6:.0f} MB of memory; allowed: {most / 1e6:.0f} MB"

    def must_be_gone(self) -> None:
        """All processes, and all that these started. A JVM notices a moment later that who started it has ended."""
        assert self.sessions, "no process was seen"
        end = time.monotonic() + GONE_WITHIN
        while left := [f"{pid} ({command})" for pid, session, command in processes() if session in self.sessions]:
            assert time.monotonic() < end, f"left behind: {', '.join(left)}"
            time.sleep(EVERY)

    def _run(self) -> None:
        heard, pid = 0, 0
        while not self._stop.wait(EVERY):
            for name in self.fleet.deployed.processes:
                if self.fleet.lives(name):
                    try:
                        self.sessions.add(self.fleet.pid(name))
                    except NoAnswer:
                        # It has just ended.
                        continue
            for name, said in self.fleet.status().items():
                if said is not None:
                    self.memory[name] = max(self.memory.get(name, 0.0), float(said["rss"]))
            try:
                now = self.fleet.pid("client")
                heard = heard if now == pid else 0
                pid = now
                for one in self.fleet.ask("client", "tail", since=heard, stream=self.stream):
                    heard = int(one["number"])
                    self.delivered.append(Delivered(float(one["at"]), int(one["bucket"]), str(one["kind"])))
            except NoAnswer:
                # It is away, and is asked again.
                continue


def processes() -> Iterator[tuple[int, int, str]]:
    """That run: number, session and command of each."""
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            command, _, rest = (folder / "stat").read_text().partition("(")[2].rpartition(")")
        except OSError:
            # It has just ended.
            continue
        state, _, _, session = rest.split()[:4]
        if state != "Z":
            yield int(folder.name), int(session), command
