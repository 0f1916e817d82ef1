"""The edges of a deployment: what a source logged is what it gives in every life, and what a client was given stable is kept."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import auroral
from auroral.dpc.events import Deliver, Event, Logged, Miss, Pause, Started, Truncate
from auroral.edge.stamping import STIME
from auroral.node.fleet.clientproxy import ClientStore
from auroral.node.fleet.clock import Clock
from auroral.node.fleet.contents import content_of
from auroral.node.fleet.control import Control, NoAnswer, ask, known
from auroral.node.fleet.eventlog import EventLog, events_in
from auroral.node.fleet.processes import free_ports
from auroral.node.fleet.sourceproxy import SourceProxy
from auroral.node.runfolder import RunFolder
from auroral.node.source import Source

BUCKET, FIRST = 1_000_000, 100


class Told:
    """A host that notes what it is to tell."""

    def __init__(self) -> None:
        self.clock, self.events = Clock(), list[Event]()

    def tell(self, core: str, event: Event) -> None:
        self.events.append(event)

    def given(self) -> list[tuple[int, list[int]]]:
        found = [event for event in self.events if isinstance(event, Logged)]
        assert all(event.closed for event in found)
        return [(event.bucket, event.content.rows.column("n").to_pylist()) for event in found]


def a_source(folder: Path, stime: str | None = "ts") -> Source:
    d = auroral.diagram("d", bucket="1s")
    given = d.input("s", "ts long, n int", **({"stime": stime, "unit": "us"} if stime else {}))
    given.filter("f", "n > 0").output()
    found = d.check().diagram.input("s")
    assert found is not None
    return Source(found, BUCKET, folder)


def rows(*pairs: tuple[float, int]) -> pa.Table:
    """Second of the deployment, and number."""
    stimes = [int((FIRST + second) * BUCKET) for second, _ in pairs]
    return pa.table({"ts": pa.array(stimes, pa.int64()), "n": pa.array([n for _, n in pairs], pa.int32())})


def numbers(started: Started) -> tuple[int, list[list[int]]]:
    kept = started.kept["s"]
    assert len(kept.usually_at) == len(kept.contents)
    return kept.begin, [content.rows.column("n").to_pylist() for content in kept.contents]


def test_closed_buckets_are_given_once_and_again_in_the_next_life(tmp_path: Path) -> None:
    async def lives() -> None:
        host, source = Told(), a_source(tmp_path)
        proxy = SourceProxy(host, "s@s", source, BUCKET, FIRST)  # type: ignore[arg-type]
        assert numbers(proxy.started()) == (0, [])
        # In one bucket by stime, then in the order in which they came.
        source.take(rows((0.7, 1), (0.2, 2), (0.7, 3), (2.5, 4)), 0)
        await proxy.advance(0)
        assert host.given() == [(0, [2, 1, 3]), (1, [])]
        # What is late is in the open bucket, and what lies before all others too.
        source.take(rows((0.1, 5), (-30, 6), (3.0, 7)), 0)
        await proxy.advance(0)
        assert host.given()[2:] == [(2, [5, 6, 4])]
        hashes = [event.content.hash for event in host.events if isinstance(event, Logged)]
        source.close()
        again = a_source(tmp_path)
        proxy = SourceProxy(Told(), "s@s", again, BUCKET, FIRST)  # type: ignore[arg-type]
        started = proxy.started()
        assert numbers(started) == (0, [[2, 1, 3], [], [5, 6, 4]])
        assert [content.hash for content in started.kept["s"].contents] == hashes
        proxy.carry_out([Truncate("s", 1), Truncate("s", 2)])
        again.close()
        last = a_source(tmp_path)
        proxy = SourceProxy(Told(), "s@s", last, BUCKET, FIRST)  # type: ignore[arg-type]
        assert numbers(proxy.started()) == (2, [[5, 6, 4]])
        last.close()

    asyncio.run(lives())


def test_a_silent_source_logs_and_gives_later(tmp_path: Path) -> None:
    async def life() -> None:
        host, source = Told(), a_source(tmp_path)
        proxy = SourceProxy(host, "s@s", source, BUCKET, FIRST)  # type: ignore[arg-type]
        proxy.silent = True
        source.take(rows((0, 1), (3, 2)), 0)
        await proxy.advance(0)
        assert host.given() == []
        proxy.silent = False
        await proxy.advance(0)
        assert host.given() == [(0, [1]), (1, []), (2, [])]
        # While a core has no room, rows wait.
        proxy.shown("s@s", Pause("s", True))
        assert not source.room.is_set()
        proxy.shown("s@s", Pause("s", False))
        assert source.room.is_set()
        source.close()

    asyncio.run(life())


def test_of_an_input_that_has_ended_the_others_hear_that_nothing_comes(tmp_path: Path) -> None:
    async def life() -> None:
        host, source = Told(), a_source(tmp_path)
        proxy = SourceProxy(host, "s@s", source, BUCKET, FIRST)  # type: ignore[arg-type]
        source.take(rows((0.5, 1), (2.2, 2)), 0)
        source.end()
        for now in (50.0, 50.9, 51.0, 52.5):
            await proxy.advance(int(now * BUCKET))
        assert host.given() == [(0, [1]), (1, []), (2, [2]), (3, []), (4, [])]
        source.close()
        # It has said so, and stands by it.
        again = a_source(tmp_path)
        proxy = SourceProxy(Told(), "s@s", again, BUCKET, FIRST)  # type: ignore[arg-type]
        assert numbers(proxy.started()) == (0, [[1], [], [2], [], []])
        again.close()

    asyncio.run(life())


# The client


def folder_of(path: Path) -> RunFolder:
    d = auroral.diagram("d", bucket="1s")
    d.input("s", "ts long, n int", stime="ts", unit="us").filter("f", "n > 0").output()
    return RunFolder.claim(path, d.check(), {}, {}, False)


def content(second: float, *values: int) -> Any:
    stime = pa.array([int((FIRST + second) * BUCKET)] * len(values), pa.int64())
    return content_of(pa.table({STIME: stime, "ts": stime, "n": pa.array(values, pa.int32())}))


def test_what_was_given_stable_is_kept_and_gone_on_from(tmp_path: Path) -> None:
    with folder_of(tmp_path) as folder:
        store = ClientStore(folder, FIRST)
        assert store.started() == Started({})
        store.carry_out([Deliver("f", 0, content(0, 3, 1), True), Deliver("f", 1, content(1, 9), False)])
        store.carry_out([Deliver("f", 1, content(1, 4), True), Deliver("f", 2, content(2), True)])
        assert store.logs["f"].read().column("n").to_pylist() == [1, 3, 4]
        store.close()
        again = ClientStore(folder, FIRST)
        assert again.started().kept["f"].begin == 3
        # A gap is behind it too, and said.
        again.carry_out([Miss("f", 3, 5), Deliver("f", 5, content(5, 6), True)])
        assert again.missed == {"f": 2}
        assert again.started().kept["f"].begin == 6
        again.close()


# Questions


def test_only_who_knows_the_secret_is_answered(tmp_path: Path) -> None:
    async def life() -> None:
        async def answer(asked: Any) -> Any:
            return {"did": asked["do"]}

        control = Control(tmp_path / "na.json", answer)
        await control.start(more=1)
        assert (tmp_path / "na.json").stat().st_mode & 0o777 == 0o600
        assert await asyncio.to_thread(ask, tmp_path / "na.json", "status") == {"did": "status"}
        said = json.loads((tmp_path / "na.json").read_text())
        (tmp_path / "other.json").write_text(json.dumps({**said, "secret": "guess"}))
        with pytest.raises(NoAnswer, match="other: refused"):
            await asyncio.to_thread(ask, tmp_path / "other.json", "status")
        await control.stop()

    asyncio.run(life())
    with pytest.raises(NoAnswer, match="na is not running"):
        ask(tmp_path / "na.json", "status")


def test_a_number_that_another_process_has_by_now_is_nobody_of_ours(tmp_path: Path) -> None:
    """After the machine was started again: nobody is asked, and nobody ended."""
    with subprocess.Popen(["sleep", "60"]) as other:
        (tmp_path / "na.json").write_text(json.dumps({"pid": other.pid, "port": 1, "secret": ""}))
        assert known(tmp_path / "na.json") is None
        other.kill()


def test_events_of_all_processes_in_the_order_of_their_times(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    clock = Clock()
    for name in ("b", "a", "b"):
        log = EventLog(tmp_path / "events" / f"{name}.jsonl", name, clock)
        log.note("state", stream="s", state="STABLE")
        log.close()
    with (tmp_path / "events" / "a.jsonl").open("a") as opened:
        opened.write('{"at": 1')
    assert [event["process"] for event in events_in(tmp_path)] == ["b", "a", "b"]


def test_free_ports_are_no_ports_of_connections() -> None:
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    found = free_ports(20)
    assert len(set(found)) == 20 and all(1024 < port < lowest for port in found)
