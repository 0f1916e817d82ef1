"""Real failures of real processes: whatever is killed, stopped, cut off, slowed down or damaged, what remains is right.

make test-faults
make test-faults ARGS="--seeds 0..19 --seconds 60 -k random"
make test-faults ARGS="--spark-of-nodes own"
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from faults.deployment import (
    CUTS,
    EVERY,
    ROWS,
    SITES,
    Senders,
    client,
    closed,
    closed_of,
    deployed,
    frontier,
    jvm_of,
    right_in_the_end,
    shed_rows_are_counted,
    until,
)

from auroral.dpc.settings import Choices
from auroral.node.fleet.control import NoAnswer
from auroral.node.fleet.deployed import DeploymentError
from auroral.node.fleet.eventlog import events_in
from auroral.node.fleet.processes import Fleet


@pytest.mark.short
def test_random(tmp_path: Path, spark: Any, seed: int, request: pytest.FixtureRequest) -> None:
    """Several at once, and one before the other is over."""
    draw, seconds = random.Random(seed), float(request.config.getoption("--seconds"))
    with deployed(tmp_path / "live") as fleet:
        senders = Senders(fleet)
        until("it begins", lambda: frontier(fleet) > 3)
        begun, steps = time.monotonic(), list[str]()
        while time.monotonic() - begun < seconds:
            steps.append(f"{time.monotonic() - begun:.1f} s: {_one(fleet, draw)}")
            time.sleep(draw.uniform(0.2, 6.0))
        sys.stdout.write("\n".join([*steps, ""]))
        with _STARTING:
            # Whoever is just starting what failed has done so.
            right_in_the_end(fleet, spark, senders)


def _one(fleet: Fleet, draw: random.Random) -> str:
    """Lets something fail, or what failed go on."""
    living = [name for name in fleet.deployed.processes if fleet.lives(name)]
    kind = draw.choice(["kill", "stop", "cut", "one way", "slow", "pause", "heal", "up", "up"])
    match kind:
        case "kill" if living:
            name = draw.choice(living)
            fleet.kill(name)
            return f"kill {name}"
        case "stop" if living:
            name, seconds = draw.choice(living), draw.uniform(0.5, 8)
            # Of Spark, what computes.
            pid = jvm_of(fleet, name) if name == "spark" else fleet.pid(name)
            os.kill(pid, signal.SIGSTOP)
            threading.Timer(seconds, _go_on, [pid]).start()
            return f"stop {name} for {seconds:.1f} s"
        case "cut" | "one way" | "heal" | "slow":
            one, other = draw.choice(CUTS)
            seconds = draw.choice([0.05, 0.3, 1.0])
            for place, peer, first in ((one, other, True), (other, one, False)):
                if fleet.lives(place):
                    threading.Thread(target=_ask, args=(fleet, kind, place, peer, first, seconds), daemon=True).start()
            return f"{kind} {one} {other}"
        case "pause":
            site = draw.choice([site for site in SITES if fleet.lives(site)] or [None])
            if site is not None:
                do = draw.choice(["pause", "resume"])
                threading.Thread(target=_quietly, args=(fleet, site, do), daemon=True).start()
                return f"{do} {site}"
        case "up":
            threading.Thread(target=_up, args=(fleet,), daemon=True).start()
            return "up"
    return "nothing"


_STARTING = threading.Lock()


def _up(fleet: Fleet) -> None:
    # One at a time, as one operator would. One that stands still does not answer, and is started later.
    if _STARTING.acquire(blocking=False):
        try:
            if fleet.deployed.sharing and not fleet.lives("spark"):
                # They are attached to a Spark that is gone.
                for name in fleet.deployed.sharing:
                    if fleet.lives(name):
                        fleet.kill(name)
            fleet.start([name for name in fleet.deployed.processes if not fleet.lives(name)])
        except (DeploymentError, NoAnswer) as error:
            # As when Spark is killed while nodes look for it. An operator tries again.
            sys.stdout.write(f"up: {str(error).splitlines()[0]}\n")
        finally:
            _STARTING.release()


def _ask(fleet: Fleet, kind: str, place: str, peer: str, first: bool, seconds: float) -> None:
    if kind == "slow":
        _quietly(fleet, place, "slow", peer=peer, seconds=seconds)
    elif kind == "heal":
        _quietly(fleet, place, "heal", peer=peer)
    else:
        both = kind == "cut"
        _quietly(fleet, place, "cut", peer=peer, going=both or first, coming=both or not first)


def _quietly(fleet: Fleet, place: str, do: str, **more: Any) -> None:
    """One that was killed or stopped since does not answer."""
    try:
        fleet.ask(place, do, **more)
    except Exception as error:  # noqa: BLE001  told, and of no consequence
        sys.stdout.write(f"{do} {place}: {str(error).splitlines()[0]}\n")


def _go_on(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        return


def test_spark_is_killed(tmp_path: Path, spark: Any) -> None:
    """Nodes cannot compute without: they come back with another, and lose nothing."""
    with deployed(tmp_path / "live") as fleet:
        senders = Senders(fleet)
        until("it begins", lambda: frontier(fleet) > 3)
        for name in ("spark",) if fleet.deployed.sharing else ("mergea", "counta"):
            # The JVM alone, where it is a node's own: the node ends with it.
            os.kill(jvm_of(fleet, name), signal.SIGKILL)
            until("its process has ended", lambda name=name: not fleet.lives(name))
        time.sleep(5)
        right_in_the_end(fleet, spark, senders)


def test_the_catalog_is_killed_and_nobody_needs_it(tmp_path: Path, spark: Any) -> None:
    with deployed(tmp_path / "live") as fleet:
        senders = Senders(fleet)
        until("it begins", lambda: frontier(fleet) > 3)
        fleet.kill("catalog")
        fleet.kill("mergea")
        before = frontier(fleet)
        until("it goes on", lambda: frontier(fleet) > before + 5)
        # Also one that comes back knows from its folder what it is.
        fleet.start(["mergea"])
        until("it comes back", lambda: (fleet.status()["mergea"] or {})["outputs"]["high"]["state"] == "STABLE")
        right_in_the_end(fleet, spark, senders, answered=True)


def test_everything_is_killed_at_once_again_and_again(tmp_path: Path, spark: Any) -> None:
    """Also what was counted of rows that boxes leave out is neither lost nor doubled."""
    with deployed(tmp_path / "live", sheds=True) as fleet:
        senders = Senders(fleet)
        until("it begins", lambda: frontier(fleet) > 3)
        for _ in range(3):
            before = frontier(fleet)
            for name in fleet.deployed.processes:
                os.kill(fleet.pid(name), signal.SIGKILL)
            until("all are gone", lambda: not any(map(fleet.lives, fleet.deployed.processes)))
            fleet.up(lambda _: None)
            until("it goes on", lambda before=before: frontier(fleet) > before + 2)
        shed_rows_are_counted(right_in_the_end(fleet, spark, senders), "mergea", "mergeb")


def test_a_node_is_killed_again_and_again_while_it_comes_back(tmp_path: Path, spark: Any) -> None:
    """Before it has recovered, and the last time while an input is away: its replica answers all the time."""
    with deployed(tmp_path / "live", sheds=True) as fleet:
        senders = Senders(fleet)
        until("it begins", lambda: frontier(fleet) > 6)
        for after in (0.0, 0.3, 0.6, 1.0, 1.5):
            for name in ("mergea", "countb"):
                fleet.kill(name)
            fleet.start(["mergea", "countb"])
            time.sleep(after)
        fleet.ask("west", "pause")
        fleet.kill("mergea")
        time.sleep(4)
        fleet.start(["mergea"])
        fleet.ask("west", "resume")
        shed_rows_are_counted(right_in_the_end(fleet, spark, senders, answered=True), "mergea", "mergeb")


@pytest.mark.short
def test_a_damaged_segment_is_refused_by_name_and_fetched_again(tmp_path: Path, spark: Any) -> None:
    with deployed(tmp_path / "live") as fleet:
        senders = Senders(fleet)
        until("it begins", lambda: frontier(fleet) > 6)
        fleet.kill("mergea")
        segments = sorted((fleet.deployed.folder / "nodes" / "mergea").rglob("*.seg"))
        assert segments
        data = bytearray(segments[0].read_bytes())
        data[len(data) // 2] ^= 0xFF
        segments[0].write_bytes(data)
        fleet.up(lambda _: None)
        told = [event for event in events_in(fleet.deployed.folder) if event["event"] == "damaged"]
        assert told and segments[0].name in str(told)
        right_in_the_end(fleet, spark, senders, answered=True)


def test_a_node_that_lost_its_disk_recovers_from_the_others(tmp_path: Path, spark: Any) -> None:
    """It begins with nothing, and gives nothing out before it is right."""
    with deployed(tmp_path / "live") as fleet:
        senders = Senders(fleet)
        until("it begins", lambda: frontier(fleet) > 6)
        fleet.kill("counta")
        shutil.rmtree(fleet.deployed.folder / "nodes" / "counta")
        fleet.up(lambda _: None)
        states = [
            e["state"] for e in events_in(fleet.deployed.folder) if e["process"] == "counta" and e["event"] == "state"
        ]
        assert "RECOVERING" in states
        right_in_the_end(fleet, spark, senders, answered=True)


def test_a_failure_of_a_minute(tmp_path: Path, spark: Any) -> None:
    """Answers go on all the time, and all of them are mended."""
    with deployed(tmp_path / "live") as fleet:
        senders = Senders(fleet)
        until("it begins", lambda: frontier(fleet) > 3)
        fleet.ask("west", "pause")
        time.sleep(60)
        found = client(fleet)["streams"]["sums"]
        assert found["newest"] >= closed_of(fleet, "east") - fleet.deployed.settings.bound - 3
        assert found["tentative_now"] > 30
        fleet.ask("west", "resume")
        right_in_the_end(fleet, spark, senders, answered=True)


def test_a_failure_of_a_minute_near_capacity(tmp_path: Path, spark: Any) -> None:
    """There is little to spare for correcting, and new answers come in time all the same."""
    with deployed(tmp_path / "live") as fleet:
        senders = Senders(fleet)
        until("it begins", lambda: frontier(fleet) > 10)
        near_capacity(fleet, senders)
        before, begun = sum(senders.sent.values()), time.monotonic()
        fleet.ask("west", "pause")
        time.sleep(60)
        taken = (sum(senders.sent.values()) - before) / (time.monotonic() - begun)
        sys.stdout.write(f"{taken:.0f} rows a second were taken while it failed\n")
        assert client(fleet)["streams"]["sums"]["tentative_now"] > 30
        fleet.ask("west", "resume")
        right_in_the_end(fleet, spark, senders, answered=True)


def near_capacity(fleet: Fleet, senders: Senders) -> None:
    """Sends two thirds of what was just kept up with, on this machine with all else that it does: half as much again as that was too much."""
    while True:
        held, senders.rows = senders.rows, senders.rows * 3 // 2
        before, begun = sum(senders.sent.values()), time.monotonic()
        time.sleep(8)
        rate = (sum(senders.sent.values()) - before) / (time.monotonic() - begun)
        behind = closed(fleet) - frontier(fleet)
        sys.stdout.write(
            f"{rate:.0f} rows a second, of {senders.rows * len(SITES) / EVERY:.0f}: {behind} buckets behind\n"
        )
        if behind > 3 or rate < 0.7 * senders.rows * len(SITES) / EVERY:
            senders.rows = held * 2 // 3
            until("it has caught up", lambda: closed(fleet) - frontier(fleet) <= 2)
            return


def test_full_buffers_hold_up_who_sends_and_nothing_is_lost(tmp_path: Path, spark: Any) -> None:
    """D72: while nobody reads, each level keeps 8 s, and then no row is taken in."""
    with deployed(tmp_path / "live", choices=Choices(keep=8.0)) as fleet:
        senders = Senders(fleet)
        until("it begins", lambda: frontier(fleet) > 3)
        fleet.kill("client")
        until("sources are full", lambda: all((fleet.status()[site] or {}).get("paused") for site in SITES))
        told = {event["process"] for event in events_in(fleet.deployed.folder) if event["event"] == "full"}
        assert told == set(SITES)
        held, closed_then = dict(senders.sent), closed(fleet)
        time.sleep(5)
        assert closed(fleet) == closed_then
        taken = sum(senders.sent.values()) - sum(held.values())
        assert taken <= len(SITES) * ROWS, "but for what was on its way"
        fleet.up(lambda _: None)
        until("it goes on", lambda: frontier(fleet) > closed_then + 3)
        right_in_the_end(fleet, spark, senders)


def test_a_site_whose_clock_is_behind(tmp_path: Path, spark: Any) -> None:
    """By more than a failure would be: what all inputs usually wait for is learned, so that nothing is tentative on its account; and a
    failure of another site is gone through as ever."""
    with deployed(tmp_path / "live", stamped=True) as fleet:
        senders = Senders(fleet, {"east": 0.0, "west": -4.0, "north": 0.5})
        until("it begins", lambda: frontier(fleet) > 15)
        time.sleep(15)
        before = client(fleet)["counts"]["tentative"]
        time.sleep(10)
        assert client(fleet)["counts"]["tentative"] == before
        assert [event for event in events_in(fleet.deployed.folder) if event["event"] == "inputs far apart"]
        fleet.ask("east", "pause")
        until("answers go on", lambda: client(fleet)["counts"]["tentative"] > before + 3)
        fleet.ask("east", "resume")
        right_in_the_end(fleet, spark, senders)


def test_a_source_is_killed_while_it_is_written_to(tmp_path: Path, spark: Any) -> None:
    """One identical sequence after SIGKILL: every row that was answered is logged, once."""
    with deployed(tmp_path / "live") as fleet:
        senders = Senders(fleet)
        until("it begins", lambda: frontier(fleet) > 3)
        for number in range(4):
            fleet.kill(SITES[number % 3])
            time.sleep(0.5)
            fleet.up(lambda _: None)
            time.sleep(2)
        before = closed(fleet)
        until("all of them go on", lambda: closed(fleet) > before + 2)
        right_in_the_end(fleet, spark, senders, answered=True)
