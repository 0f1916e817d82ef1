"""Nodes that are known by a name: a name server may take any time, or not know it."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import pytest

from auroral.dpc.values import Grant
from auroral.model.deployment import Endpoint
from wire.hosts import BROKEN, PATIENT, QUICK, Hosts, Node, over_flight, run

NAME = "node.example"


@dataclass(slots=True)
class NameServer:
    """Answers when it is let go."""

    found: tuple[str, ...] = ("127.0.0.1",)
    answers: threading.Event = field(default_factory=threading.Event)
    asked: int = 0

    def getaddrinfo(self, plain: Callable[..., object], host: object, *arguments: object, **options: object) -> object:
        if host != NAME:
            return plain(host, *arguments, **options)
        self.asked += 1
        self.answers.wait(60)
        if not self.found:
            raise socket.gaierror("temporary failure")
        kind = (socket.AF_INET, socket.SOCK_STREAM, 6, "")
        return [(*kind, (address, 0)) for address in self.found]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[NameServer]:
    found, plain = NameServer(), socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda *said, **options: found.getaddrinfo(plain, *said, **options))
    yield found
    found.answers.set()


async def pair(hosts: Hosts, connect: float) -> tuple[Node, Node]:
    first = await hosts.node("n1", "a", patience=replace(QUICK, connect=connect))
    second = await hosts.node("n2", "b")
    hosts.book.locate("n2", Endpoint(NAME, second.transport.port))  # type: ignore[attr-defined]
    return first, second


def test_a_slow_name_server_holds_up_nobody(server: NameServer) -> None:
    async def scenario(hosts: Hosts) -> None:
        first, second = await pair(hosts, 0.2)
        for number in range(3):
            first.transport.send("a", "b", Grant(number))
            await first.until(lambda number=number: first.numbers("a", "b") == [BROKEN] * (number + 1))
        assert server.asked == 1, "one question is under way, whoever asks"
        assert list(first.counters("n2").broken) == ["it took longer than 0.2 s"]
        # One that calls is reached all the same.
        second.transport.send("b", "a", Grant(7))
        await first.until(lambda: first.numbers("a", "b")[-1] == 7)
        assert not second.heard

    run("flight", scenario)


def test_a_stop_does_not_wait_for_a_name_server(server: NameServer) -> None:
    async def scenario(hosts: Hosts) -> None:
        first, second = await pair(hosts, 30.0)
        first.transport.send("a", "b", Grant(1))
        await first.until(lambda: server.asked)
        async with asyncio.timeout(5):
            await first.transport.stop()
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("wire-n1")]
        # The answer comes too late, and changes nothing.
        server.answers.set()
        await first.until(lambda: not [one for one in threading.enumerate() if one.name == f"name-of-{NAME}"])
        assert not second.heard and not first.heard

    run("flight", scenario)


def test_a_name_of_several_addresses(server: NameServer) -> None:
    """Somebody is at the last of them only."""
    server.found = ("127.0.0.98", "::1", "127.0.0.1")
    server.answers.set()

    async def scenario(hosts: Hosts) -> None:
        first, second = await pair(hosts, PATIENT.connect)
        first.transport.send("a", "b", Grant(1))
        await second.until(lambda: second.numbers("b", "a") == [1])
        assert not first.counters("n2").broken

    run("flight", scenario)


def test_a_name_that_nobody_knows(server: NameServer) -> None:
    server.found = ()
    server.answers.set()

    async def scenario(hosts: Hosts) -> None:
        first, _ = await pair(hosts, PATIENT.connect)
        first.transport.send("a", "b", Grant(1))
        await first.until(lambda: first.numbers("a", "b") == [BROKEN])
        (reason,) = first.counters("n2").broken
        assert "nobody knows an address of 'node.example'" in reason
        # It is asked for anew with each call.
        server.found = ("127.0.0.1",)
        await first.until(lambda: first.transport.send("a", "b", Grant(2)) or first.counters("n2").connected)

    run("flight", scenario)


@over_flight
async def test_names_of_this_machine(hosts: Hosts) -> None:
    first, second = await hosts.node("n1", "a"), await hosts.node("n2", "b")
    hosts.book.locate("n2", Endpoint("localhost", second.transport.port))  # type: ignore[attr-defined]
    first.transport.send("a", "b", Grant(1))
    await second.until(lambda: second.numbers("b", "a") == [1])


def has_version_6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_version_6(), reason="this machine has no IPv6")
@pytest.mark.parametrize("host", ["[::1]", "::1"])
def test_an_address_of_version_6(host: str) -> None:
    async def scenario(hosts: Hosts) -> None:
        first, second = await hosts.node("n1", "a"), await hosts.node("n2", "b", host="[::1]")
        hosts.book.locate("n2", Endpoint(host, second.transport.port))  # type: ignore[attr-defined]
        first.transport.send("a", "b", Grant(1))
        await second.until(lambda: second.numbers("b", "a") == [1])

    run("flight", scenario)
