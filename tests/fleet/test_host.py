"""What a core wants is carried out in its order: what is to be kept is on disk before anything behind it is said."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from auroral.dpc.events import (
    Cancel,
    Effect,
    Evaluate,
    Evaluated,
    Event,
    Failed,
    Keep,
    Report,
    Send,
    Started,
    WakeAt,
    Woken,
)
from auroral.dpc.values import Grant
from auroral.edge.durable import storage_error
from auroral.node.fleet import host as hosting
from auroral.node.fleet.clock import Clock
from auroral.node.fleet.host import Host, JobCancelled


class Transport:
    """Notes what is sent."""

    node = "n1"

    def __init__(self, noted: list[str]):
        self.noted = noted

    def opened(self, core: str) -> None:
        self.noted.append(f"opened {core}")

    def closed(self, core: str) -> None:
        self.noted.append(f"closed {core}")

    def send(self, sender: str, to: str, message: Any) -> None:
        self.noted.append(f"sent {message.number}")


class Core:
    """Wants what it is told to, once for each event, and notes events."""

    def __init__(self, noted: list[str], *wanted: Sequence[Effect]):
        self.noted, self.wanted = noted, list(wanted)

    def handle(self, event: Event, now: float) -> list[Effect]:
        said = f" {event.job}" if isinstance(event, Evaluated | Failed) else ""
        self.noted.append(f"{type(event).__name__}{said}")
        return list(self.wanted.pop(0)) if self.wanted else []


class Disk:
    """Takes its time, and fails as often as it is told to."""

    def __init__(self, noted: list[str], failing: int = 0):
        self.noted, self.failing = noted, failing
        self.free = threading.Event()
        self.free.set()

    def carry_out(self, effects: Sequence[Effect]) -> None:
        self.free.wait(5)
        if self.failing:
            self.failing -= 1
            raise storage_error(OSError(28, "No space left on device"), "what a core keeps", Path("x.seg"))
        self.noted.append(f"kept {' '.join(str(effect.begin) for effect in effects if isinstance(effect, Keep))}")


def keep(begin: int) -> Keep:
    return Keep("s", begin, (), ())


def send(number: int) -> Send:
    return Send("b", Grant(number))


def evaluate(job: int, tentative: bool = False) -> Evaluate:
    return Evaluate(job, ("s",), 0, 1, {}, tentative)


def hosted(scenario: Callable[[Host, list[str]], Awaitable[None]]) -> list[str]:
    noted: list[str] = []

    async def whole() -> None:
        host = Host(Clock(), Transport(noted))  # type: ignore[arg-type]
        async with asyncio.timeout(10):
            await scenario(host, noted)
        await host.stop()
        await host.stop()

    asyncio.run(whole())
    return noted


async def until(noted: list[str], *wanted: str) -> None:
    while not set(wanted) <= set(noted):
        await asyncio.sleep(0.005)


def test_what_is_behind_something_to_be_kept_waits_and_the_core_goes_on() -> None:
    async def scenario(host: Host, noted: list[str]) -> None:
        disk = Disk(noted)
        disk.free.clear()
        core = Core(noted, [send(1), keep(0), send(2), keep(1), send(3)], [send(4), keep(2), send(5)])
        host.start("a", core, Started(), disk)
        host.tell("a", Woken())
        assert noted == ["opened a", "Started", "sent 1", "Woken"]
        disk.free.set()
        await until(noted, "sent 5")

    # Two lists are stored at once, and nothing that was asked for later.
    assert hosted(scenario)[4:] == ["kept 0 1", "sent 2", "sent 3", "sent 4", "kept 2", "sent 5", "closed a"]


def test_a_full_disk_holds_up_what_is_behind_it_until_there_is_room(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(hosting, "RETRY_STORING", 0.01)

    async def scenario(host: Host, noted: list[str]) -> None:
        host.start("a", Core(noted, [keep(0), send(1)]), Started(), Disk(noted, failing=3))
        await until(noted, "sent 1")

    assert hosted(scenario)[2:] == ["kept 0", "sent 1", "closed a"]
    assert caplog.text.count("a cannot store what it must keep, and waits: ") == 3


def test_of_several_times_to_be_woken_the_last_counts() -> None:
    async def scenario(host: Host, noted: list[str]) -> None:
        now = host.clock.now()
        core = Core(noted, [WakeAt(now + 30), WakeAt(now + 0.02)], [WakeAt(float("inf"))])
        host.start("a", core, Started())
        await until(noted, "Woken")
        assert host.clock.now() >= now + 0.02
        await asyncio.sleep(0.03)

    assert hosted(scenario).count("Woken") == 1


class Spark:
    """Evaluates when it is told to."""

    def __init__(self) -> None:
        self.may = {True: threading.Event(), False: threading.Event()}
        self.cancelled: list[int] = []

    def run(self, asked: Evaluate) -> Evaluated:
        self.may[asked.tentative].wait(5)
        if asked.job in self.cancelled:
            raise JobCancelled
        if asked.job == 13:
            raise ValueError("no such luck")
        return Evaluated(asked.job, {})

    def cancel(self, asked: Evaluate) -> None:
        self.cancelled.append(asked.job)
        self.may[asked.tentative].set()


def test_a_tentative_job_runs_beside_one_that_is_not() -> None:
    spark = Spark()

    async def scenario(host: Host, noted: list[str]) -> None:
        host.start("a", Core(noted, [evaluate(1), evaluate(2, tentative=True)]), Started(), jobs=spark)
        spark.may[True].set()
        await until(noted, "Evaluated 2")
        assert "Evaluated 1" not in noted
        spark.may[False].set()
        await until(noted, "Evaluated 1")

    hosted(scenario)


def test_a_job_begins_while_what_was_wanted_with_it_is_stored_and_no_further_one() -> None:
    """Who catches up does not wait for its disk between two jobs; behind a disk that is full, results do not pile up."""
    spark = Spark()
    spark.may[False].set()

    async def scenario(host: Host, noted: list[str]) -> None:
        disk = Disk(noted)
        disk.free.clear()
        core = Core(noted, [keep(0), send(1), evaluate(1)], [keep(1), send(2), evaluate(2)])
        host.start("a", core, Started(), disk, spark)
        await until(noted, "Evaluated 1")
        await asyncio.sleep(0.05)
        assert noted[2:] == ["Evaluated 1"]
        disk.free.set()
        await until(noted, "Evaluated 2")

    assert hosted(scenario)[3:] == ["kept 0", "sent 1", "kept 1", "sent 2", "Evaluated 2", "closed a"]


def test_a_job_that_fails_or_is_cancelled_is_told_as_failed(caplog: pytest.LogCaptureFixture) -> None:
    spark = Spark()
    spark.may[False].set()

    async def scenario(host: Host, noted: list[str]) -> None:
        host.start("a", Core(noted, [evaluate(13), evaluate(7, tentative=True), Cancel(7)]), Started(), jobs=spark)
        await until(noted, "Failed 13", "Failed 7")

    hosted(scenario)
    assert "job 13 of a failed: ValueError: no such luck" in caplog.text and "job 7" not in caplog.text


def test_a_core_that_ended_is_told_nothing_and_its_jobs_are_cancelled() -> None:
    spark = Spark()

    async def scenario(host: Host, noted: list[str]) -> None:
        host.start("a", Core(noted, [evaluate(1), WakeAt(host.clock.now() + 0.01)]), Started(), jobs=spark)
        await host.end("a")
        host.tell("a", Woken())
        await asyncio.sleep(0.03)

    assert hosted(scenario) == ["opened a", "Started", "closed a"]
    assert spark.cancelled == [1]


def test_who_looks_sees_every_effect_when_it_is_carried_out_and_every_event() -> None:
    seen: list[object] = []

    async def scenario(host: Host, noted: list[str]) -> None:
        host.shown.append(lambda core, effect: seen.append((core, effect)))
        host.observed.append(lambda core, event, effects: seen.append((core, type(event), len(effects))))
        host.start("a", Core(noted, [Report("late", "s")]), Started())

    hosted(scenario)
    assert seen == [("a", Started, 1), ("a", Report("late", "s"))]


def test_setting_the_time_does_not_move_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    before = clock.now()
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert before <= clock.now() < before + 5
    assert abs(clock.monotonic(clock.now()) - time.monotonic()) < 1


def test_a_core_that_comes_upon_what_must_not_be_is_not_run_any_more(caplog: pytest.LogCaptureFixture) -> None:
    told: list[str] = []

    class Broken(Core):
        def handle(self, event: Event, now: float) -> list[Effect]:
            assert not isinstance(event, Woken), "it must not wake"
            return super().handle(event, now)

    async def scenario(host: Host, noted: list[str]) -> None:
        host.failed = lambda core, error: told.append(f"{core}: {error}")
        host.start("a", Broken(noted), Started())
        host.tell("a", Woken())
        host.tell("a", Failed(3, ""))

    assert hosted(scenario)[:3] == ["opened a", "Started", "closed a"]
    assert told[0].startswith("a: it must not wake") and len(told) == 1
    assert "a cannot go on" in caplog.text


def test_a_store_that_comes_upon_what_must_not_be_ends_the_core_too() -> None:
    told: list[str] = []

    class Broken(Disk):
        def carry_out(self, effects: Sequence[Effect]) -> None:
            raise ValueError("such rows cannot be")

    async def scenario(host: Host, noted: list[str]) -> None:
        host.failed = lambda core, error: told.append(f"{core}: {error}")
        host.start("a", Core(noted, [keep(0), send(1)]), Started(), Broken(noted))
        await until(told, "a: such rows cannot be")

    assert "sent 1" not in hosted(scenario)


def test_who_looks_and_fails_keeps_nothing_from_happening(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(host: Host, noted: list[str]) -> None:
        host.shown.append(lambda core, effect: 1 / 0)
        host.observed.append(lambda core, event, effects: 1 / 0)
        host.start("a", Core(noted, [send(1), send(2)]), Started())

    assert hosted(scenario)[:4] == ["opened a", "Started", "sent 1", "sent 2"]
    assert caplog.text.count("who looks at what happens failed") == 3


def test_who_is_to_end_lets_jobs_end_and_begins_none() -> None:
    class Slow:
        def __init__(self, noted: list[str]):
            self.noted = noted

        def run(self, asked: Evaluate) -> Evaluated:
            self.noted.append(f"begun {asked.job}")
            time.sleep(0.2)
            return Evaluated(asked.job, {})

        def cancel(self, asked: Evaluate) -> None:
            self.noted.append(f"cancelled {asked.job}")

    async def scenario(host: Host, noted: list[str]) -> None:
        core = Core(noted, [evaluate(1)], [keep(0), send(7), evaluate(2)])
        host.start("a", core, Started(), Disk(noted), Slow(noted))
        await host.drain(5.0)
        noted.append("drained")

    found = hosted(scenario)
    assert found == ["opened a", "Started", "begun 1", "Evaluated 1", "kept 0", "sent 7", "drained", "closed a"]
