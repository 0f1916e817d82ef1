"""The processes of a deployment on this machine: starts, asks and ends them."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auroral.dpc.assembly import CLIENT
from auroral.edge.durable import claim
from auroral.engine.shared import attached
from auroral.model.deployment import LOCAL_HOST
from auroral.node.evaluator import Session
from auroral.node.fleet.clock import Clock
from auroral.node.fleet.control import NoAnswer, alive, ask, known
from auroral.node.fleet.deployed import SPARK, Deployed, DeploymentError, gateway
from auroral.node.fleet.eventlog import EventLog

READY_WITHIN = 180.0
"""Seconds, on a machine that has much else to do."""
END_WITHIN = 15.0
_LOOK_EVERY = 0.05
_LOWEST = 16_000
_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Fleet:
    deployed: Deployed

    def file(self, name: str) -> Path:
        return self.deployed.folder / "processes" / f"{name}.json"

    def log(self, name: str) -> Path:
        return self.deployed.folder / "logs" / f"{name}.log"

    def lives(self, name: str) -> bool:
        return known(self.file(name)) is not None

    def pid(self, name: str) -> int:
        said = known(self.file(self.must_be_here(name)))
        if said is None:
            raise NoAnswer(f"{name} is not running\n    next: auroral up starts what is not running")
        return int(said["pid"])

    def must_be(self, name: str) -> str:
        if name not in self.deployed.processes:
            raise DeploymentError(
                f"there is no {name!r} in this deployment\n    allowed: {', '.join(self.deployed.processes)}"
            )
        return name

    def must_be_here(self, name: str) -> str:
        if self.must_be(name) not in self.deployed.here:
            raise DeploymentError(
                f"{name} runs at {self.deployed.where(name)}, not from this folder\n"
                f"    allowed: {', '.join(self.deployed.here)}\n    next: do it there"
            )
        return name

    # Begin and end

    @contextmanager
    def alone(self) -> Iterator[None]:
        """No other command starts, ends or moves anything meanwhile."""
        descriptor = claim(self.deployed.folder / "processes" / "command.lock", "who commands")
        try:
            yield
        finally:
            os.close(descriptor)

    def up(self, progress: Progress) -> Fleet:
        """Starts what is not running; gives all that run. A new deployment begins when all are ready, with the bucket that begins next.

        Of this folder: what runs elsewhere was packed when that bucket was chosen (`packing`).
        """
        missing = [
            name for name in self.deployed.here if not self.lives(name) and name not in self.deployed.in_programs
        ]
        if SPARK in missing:
            # They are attached to a Spark that is gone.
            for name in [name for name in self.deployed.sharing if self.lives(name)]:
                self.end(name)
                missing.append(name)
        if missing:
            progress(f"starting {', '.join(missing)}")
            self.start(missing)
        deployed = self.deployed
        if deployed.agreed.first is None:
            origin, now = deployed.agreed.origin, time.time_ns() // 1000 // deployed.checked.diagram.bucket
            deployed = deployed.begin(now + 1 if origin is None else origin)
        for name in deployed.here:
            # A program comes when it likes.
            if name not in deployed.in_programs or self.lives(name):
                ask(self.file(name), "begin", timeout=READY_WITHIN)
        return Fleet(deployed)

    def start(self, names: Iterable[str]) -> None:
        """Comes back when all of them can be asked."""
        started = {name: self._start(name) for name in names}
        until = time.monotonic() + READY_WITHIN
        for name, process in started.items():
            while not self._is_ready(name, process.pid):
                if process.poll() is not None or time.monotonic() > until:
                    self._give_up(started, name, process.poll())
                time.sleep(_LOOK_EVERY)

    def _start(self, name: str) -> subprocess.Popen[bytes]:
        self.file(name).unlink(missing_ok=True)
        with self.log(name).open("ab") as log:
            started = subprocess.Popen(
                [sys.executable, "-m", "auroral.node.fleet.process", str(self.deployed.folder), name],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Whom it refuses for want of a certificate, gRPC tells there.
                env={**os.environ, "GRPC_VERBOSITY": "INFO"},
                # Ctrl-C is for who watches, and must not end what is watched.
                start_new_session=True,
            )
        _CHILDREN[started.pid] = started
        return started

    def _is_ready(self, name: str, pid: int) -> bool:
        said = known(self.file(name))
        return said is not None and said["pid"] == pid

    def _give_up(self, started: Mapping[str, subprocess.Popen[bytes]], name: str, code: int | None) -> None:
        for process in started.values():
            process.kill()
            process.wait()
        how = f"ended with {code}" if code is not None else f"was not ready after {READY_WITHIN:g} s"
        last = self.log(name).read_text(errors="replace").strip().splitlines()[-5:]
        raise DeploymentError(
            f"{name} {how}\n    " + "\n    ".join(last) + f"\n    next: mend that; all of it is in {self.log(name)}"
        )

    def down(self, progress: Progress, but: Sequence[str] = ()) -> list[str]:
        """Ends all that run, but those; gives their names. The client after who gives to it, Spark after who uses it."""
        living = [name for name in self.deployed.here if self.lives(name) and name not in but]
        first = [name for name in living if name not in (CLIENT, SPARK)]
        for group in (first, *([name] for name in (CLIENT, SPARK) if name in living)):
            if group:
                progress(f"ending {', '.join(group)}")
                with ThreadPoolExecutor(len(group)) as pool:
                    list(pool.map(self.end, group))
        return living

    def end(self, name: str) -> None:
        """By SIGTERM; by SIGKILL where that takes too long, and where it stands still."""
        pid = self.pid(name)
        if name in self.deployed.in_programs:
            self._leave(name)
            return
        os.kill(pid, signal.SIGTERM)
        os.kill(pid, signal.SIGCONT)
        until = time.monotonic() + END_WITHIN
        while alive(pid):
            _reap(pid)
            if time.monotonic() > until:
                os.kill(pid, signal.SIGKILL)
                until = float("inf")
            time.sleep(_LOOK_EVERY)
        _reap(pid)
        self.file(name).unlink(missing_ok=True)

    def _leave(self, name: str) -> None:
        """The source that is in a program; the program goes on."""
        self.ask(name, "leave")
        until = time.monotonic() + END_WITHIN
        while self.lives(name):
            if time.monotonic() > until:
                raise NoAnswer(
                    f"the source {name}, in process {self.pid(name)}, does not end\n    next: end that program"
                )
            time.sleep(_LOOK_EVERY)

    def kill(self, name: str) -> None:
        """As a crash would."""
        pid = self.pid(name)
        if name in self.deployed.in_programs:
            raise DeploymentError(
                f"the source {name} is in a program of yours, process {pid}\n    allowed: processes that auroral up started\n"
                f"    next: end that program, as by kill -9 {pid}; or auroral pause {name}"
            )
        os.kill(pid, signal.SIGKILL)
        while alive(pid):
            _reap(pid)
            time.sleep(_LOOK_EVERY / 10)
        _reap(pid)
        # It could not say so itself.
        with closing(EventLog(self.deployed.folder / "events" / f"{name}.jsonl", name, Clock())) as events:
            events.note("killed")

    # Questions

    def session(self) -> Session:
        """On the Spark that nodes share. This process must have none of its own."""
        return attached(gateway(self.deployed.folder))

    def ask(self, name: str, do: str, **more: Any) -> Any:
        return ask(self.file(self.must_be_here(name)), do, **more)

    def status(self) -> dict[str, dict[str, Any] | None]:
        """Of each process of this folder; None where it does not run, or does not answer."""

        def one(name: str) -> dict[str, Any] | None:
            try:
                found: dict[str, Any] = ask(self.file(name), "status", timeout=2.0)
            except NoAnswer:
                return None
            return found

        names = self.deployed.here
        with ThreadPoolExecutor(len(names)) as pool:
            return dict(zip(names, pool.map(one, names), strict=True))

    def cut(self, one: str, other: str, both: bool = True) -> None:
        """Nothing passes from one to the other any more, and, for both, nothing back."""
        self._each(one, other, "cut", {"coming": both}, {"going": both})

    def heal(self, one: str, other: str) -> None:
        self._each(one, other, "heal", {}, {})

    def _each(self, one: str, other: str, do: str, here: Mapping[str, Any], there: Mapping[str, Any]) -> None:
        if self.must_be(one) == self.must_be(other):
            raise DeploymentError(f"{one} cannot be cut off from itself\n    next: name two processes")
        if one in self.deployed.elsewhere and other in self.deployed.elsewhere:
            self.must_be_here(one)
        # Either side can keep everything from passing.
        if one in self.deployed.here:
            self.ask(one, do, peer=other, **here)
        if other in self.deployed.here:
            self.ask(other, do, peer=one, **there)


_CHILDREN: dict[int, subprocess.Popen[bytes]] = {}
"""Started here, and not yet known to have ended. They outlive this process."""


def _reap(pid: int) -> None:
    """Where it is a child of this process: it would be a zombie for as long as this one lives."""
    child = _CHILDREN.get(pid)
    if child is not None and child.poll() is not None:
        del _CHILDREN[pid]


def free_ports(count: int, host: str = LOCAL_HOST) -> list[int]:
    """That nobody listens on just now, at this address nor at the one of this machine alone, and that no connection gets by itself: those have
    ports of a range of their own."""
    if not can_be_bound(host, 0):
        raise DeploymentError(
            f"{host} is no address of this machine\n    allowed: an address, or a name, at which others reach this machine\n"
            "    next: mend --host; `ip addr` lists the addresses"
        )
    found: list[int] = []
    candidates = iter(random.sample(range(_LOWEST, _lowest_of_connections()), 1_000))
    while len(found) < count:
        port = next(candidates)
        if all(can_be_bound(one, port) for one in {LOCAL_HOST, host}):
            found.append(port)
    return found


def can_be_bound(host: str, port: int) -> bool:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as tried:
            tried.bind(address)
    except OSError:
        return False
    return True


def _lowest_of_connections() -> int:
    try:
        return max(_LOWEST + 5_000, int(_RANGE.read_text().split()[0]))
    except (OSError, ValueError):
        return 32_768
