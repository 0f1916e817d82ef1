"""Each process of a deployment is killed and stopped, and each link cut and slowed down, one after the other: answers come in time all the while,
and what remains is right."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from faults.deployment import CUTS, SITES, Senders, deployed, frontier, in_time, jvm_of, right_in_the_end, until

from auroral.node.fleet.processes import Fleet
from auroral.sim.network import SLOWER

LASTS = 4.0
"""Seconds that a failure lasts: it is noticed after two."""
AFTERWARDS = 4
"""Buckets that become stable when it is over, before the next one begins."""


def _killed(fleet: Fleet, name: str) -> None:
    fleet.kill(name)
    time.sleep(LASTS)
    # With a Spark that is gone, those that were attached to it.
    fleet.up(lambda _: None)


def _stopped(fleet: Fleet, name: str) -> None:
    """Nothing is heard of it, and nobody is told. Of Spark, what computes."""
    pid = jvm_of(fleet, name) if name == "spark" else fleet.pid(name)
    os.kill(pid, signal.SIGSTOP)
    time.sleep(LASTS)
    os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("fails", [_killed, _stopped])
def test_each_process(tmp_path: Path, spark: Any, fails: Callable[[Fleet, str], None]) -> None:
    with deployed(tmp_path / "live") as fleet:
        senders = Senders(fleet)
        until("it begins", lambda: frontier(fleet) > 3)
        for name in ("catalog", *SITES, *fleet.deployed.nodes):
            with _goes_on(fleet, name):
                fails(fleet, name)
        in_time(fleet, senders)
        # There is no way for an answer while these are away. The client has the sinks, too, and is at work on them each time.
        for name in ("client", "client", "client", *(("spark",) if fleet.deployed.sharing else ())):
            with _goes_on(fleet, name):
                fails(fleet, name)
        right_in_the_end(fleet, spark, senders)


def _cut(fleet: Fleet, one: str, other: str) -> None:
    fleet.cut(one, other)


def _cut_there(fleet: Fleet, one: str, other: str) -> None:
    """What is said is not heard, and answers that nobody asked for come."""
    fleet.cut(one, other, both=False)


def _cut_back(fleet: Fleet, one: str, other: str) -> None:
    fleet.cut(other, one, both=False)


def _slow(fleet: Fleet, one: str, other: str, seconds: float = SLOWER) -> None:
    for place, peer in ((one, other), (other, one)):
        fleet.ask(place, "slow", peer=peer, seconds=seconds)


@pytest.mark.parametrize("fails", [_cut, _cut_there, _cut_back, _slow])
def test_each_link(tmp_path: Path, spark: Any, fails: Callable[[Fleet, str, str], None]) -> None:
    with deployed(tmp_path / "live") as fleet:
        senders = Senders(fleet)
        until("it begins", lambda: frontier(fleet) > 3)
        for one, other in CUTS:
            with _goes_on(fleet, f"{one} and {other}"):
                fails(fleet, one, other)
                time.sleep(LASTS)
                fleet.heal(one, other)
                _slow(fleet, one, other, 0)
        right_in_the_end(fleet, spark, senders, answered=True)


@contextmanager
def _goes_on(fleet: Fleet, failed: str) -> Iterator[None]:
    yield
    before = frontier(fleet)
    until(f"it goes on behind the failure of {failed}", lambda: frontier(fleet) > before + AFTERWARDS)
