"""What only a real network has: processes that die or stand still, strangers at the port, TLS, threads and ports."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.flight as fl
import pytest

from auroral.dpc.values import Grant
from auroral.model.deployment import Endpoint
from auroral.wire import flight, outgoing
from auroral.wire.authority import issue
from auroral.wire.certificates import Certificates
from auroral.wire.errors import WireError
from auroral.wire.hello import Hello, Identity
from auroral.wire.posting import ask_loop
from auroral.wire.sockets import grpc_address
from auroral.wire.things import Open, piece_head
from wire.hosts import BROKEN, BUCKET, PATIENT, Hosts, Node, over_flight, run
from wire.test_transport import stable

PEER = Path(__file__).with_name("peer.py")


class Child:
    """Node n2, in a process of its own."""

    def __init__(self, hosts: Hosts, parent: Node, port: int = 0):
        command = [sys.executable, str(PEER), str(parent.transport.port), str(port)]  # type: ignore[attr-defined]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())
        hosts.book.place("b", "n2")
        hosts.book.locate("n2", Endpoint("127.0.0.1", self.port))

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


async def talking(hosts: Hosts, parent: Node, children: list[Child], port: int = 0) -> Child:
    child = await asyncio.to_thread(Child, hosts, parent, port)
    children.append(child)
    number = len(children) * 1000
    await parent.until(lambda: ("b", Grant(number)) in parent.heard.get("a", []) or _ask(parent, number))
    return child


def _ask(parent: Node, number: int) -> None:
    parent.transport.send("a", "b", Grant(number))


@pytest.fixture
def children() -> Iterator[list[Child]]:
    found: list[Child] = []
    yield found
    for child in found:
        child.end()


# Processes


@pytest.mark.slow
def test_a_killed_peer_that_comes_back(children: list[Child]) -> None:
    async def scenario(hosts: Hosts) -> None:
        parent = await hosts.node("n1", "a")
        child = await talking(hosts, parent, children)
        child.signal(signal.SIGKILL)
        parent.heard["a"].clear()
        await parent.until(lambda: parent.heard["a"][-1:] == [("b", BROKEN)])
        for number in range(5):
            parent.transport.send("a", "b", Grant(number))
        await parent.until(lambda: len(parent.heard["a"]) >= 2)
        parent.heard["a"].clear()
        # At the same port, as a node that is started again.
        await talking(hosts, parent, children, child.port)
        assert not {Grant(number) for number in range(5)} & {message for _, message in parent.heard["a"]}

    run("flight", scenario)


@pytest.mark.slow
def test_a_peer_that_stands_still_for_too_long(children: list[Child]) -> None:
    async def scenario(hosts: Hosts) -> None:
        parent = await hosts.node("n1", "a")
        child = await talking(hosts, parent, children)
        child.signal(signal.SIGSTOP)
        parent.heard["a"].clear()
        # More than the network takes in: a thread is in the middle of writing.
        rows = pa.table({"v": np.arange(2_000_000)})
        for bucket in range(3):
            parent.transport.send("a", "b", stable("s", bucket, rows))
        await parent.until(lambda: parent.heard["a"][-1:] == [("b", BROKEN)])
        assert [reason for reason in parent.counters("n2").broken if reason.startswith("silent for")]
        child.signal(signal.SIGCONT)
        parent.heard["a"].clear()
        await parent.until(lambda: ("b", Grant(77)) in parent.heard["a"] or _ask(parent, 77))

    run("flight", scenario)


@pytest.mark.slow
def test_a_peer_that_stands_still_does_not_fill_the_memory(
    children: list[Child], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outgoing, "MOST_CORRECT", 64 << 20)

    async def scenario(hosts: Hosts) -> None:
        parent = await hosts.node("n1", "a", patience=PATIENT)
        child = await talking(hosts, parent, children)
        child.signal(signal.SIGSTOP)
        parent.heard["a"].clear()
        rows = pa.table({"v": np.arange(1_000_000)})
        for bucket in range(12):
            parent.transport.send("a", "b", stable("s", bucket, rows))
        await parent.until(lambda: parent.heard["a"][-1:] == [("b", BROKEN)])
        (reason,) = parent.counters("n2").broken
        assert reason.endswith("bytes of stable rows wait")

    run("flight", scenario)


@pytest.mark.slow
def test_a_stop_does_not_wait_for_a_peer_that_stands_still(children: list[Child]) -> None:
    async def scenario(hosts: Hosts) -> None:
        parent = await hosts.node("n1", "a", patience=PATIENT)
        child = await talking(hosts, parent, children)
        child.signal(signal.SIGSTOP)
        parent.transport.send("a", "b", stable("s", 1, pa.table({"v": np.arange(3_000_000)})))
        await parent.until(lambda: parent.transport.backlog("a"))
        async with asyncio.timeout(5):
            await parent.transport.stop()
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("wire-")]

    run("flight", scenario)


# Addresses that are changed on the way


@over_flight
async def test_a_break_ends_no_connection_to_another_node_at_the_same_port(hosts: Hosts) -> None:
    """With one port on all machines, and a peer that sees this node at another address than its own: containers, as they often are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Hello, "seen", lambda answer, _: replace(answer, seen_as="ipv4:10.9.9.9:4711"))
        first, second = await hosts.node("n1", "a"), await hosts.node("n2", "b")
        await hosts.node("n3", "c", host="127.0.0.2", port=second.transport.port)  # type: ignore[attr-defined]
        for core in ("b", "c"):
            first.transport.send("a", core, Grant(1))
        await first.until(lambda: first.counters("n2").connected == first.counters("n3").connected == 1)
        with socket.create_server(("127.0.0.3", second.transport.port)) as other:  # type: ignore[attr-defined]
            stranger = socket.create_connection(other.getsockname())
            link = first.transport._peer("n2").link
            assert link is not None
            first.transport.ended(link, "by the test")
            await second.until(lambda: ("a", BROKEN) in second.heard.get("b", []))
            with stranger, other.accept()[0] as accepted:
                accepted.sendall(b"x")
                assert stranger.recv(1) == b"x"
        third = hosts.nodes[2]
        first.transport.send("a", "c", Grant(2))
        await third.until(lambda: third.numbers("c", "a") == [1, 2])
        assert not first.counters("n3").broken


@over_flight
async def test_a_caller_whose_address_cannot_be_told_is_refused(hosts: Hosts) -> None:
    """Its connection could not be ended without all others."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flight, "grpc_address", lambda _: None)
        first, second = await hosts.node("n1", "a"), await hosts.node("n2", "b")
        first.transport.send("a", "b", Grant(1))
        await first.until(lambda: first.numbers("a", "b") == [BROKEN])
        assert second.counters("(strangers)").refused.total() == 1 and not second.heard


@over_flight
async def test_a_connection_that_nothing_could_end_is_not_made(hosts: Hosts) -> None:
    """A thread that writes to a peer that stands still would keep the node from stopping."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Hello, "seen", lambda answer, _: replace(answer, seen_as="elsewhere"))
        patch.setattr(flight, "connections", lambda _: set())
        first, second = await hosts.node("n1", "a"), await hosts.node("n2", "b")
        first.transport.send("a", "b", Grant(1))
        await first.until(lambda: first.numbers("a", "b") == [BROKEN])
        (reason,) = first.counters("n2").broken
        assert reason.endswith("the connection is not found among those of this process: nothing could end it")
        await second.until(lambda: second.counters("n1").broken.total() == second.counters("n1").connected)
        assert not first.counters("n2").connected and not second.heard


@over_flight
async def test_an_address_that_stands_for_another(hosts: Hosts) -> None:
    first, second = await hosts.node("n1", "a"), await hosts.node("n2", "b")
    hosts.book.locate("n2", Endpoint("0.0.0.0", second.transport.port))  # type: ignore[attr-defined]
    first.transport.send("a", "b", Grant(1))
    await second.until(lambda: second.numbers("b", "a") == [1])
    link = first.transport._peer("n2").link
    assert link is not None
    first.transport.ended(link, "by the test")
    await second.until(lambda: second.numbers("b", "a") == [1, BROKEN])


# What fails here


@over_flight
async def test_a_question_to_the_loop_that_fails(hosts: Hosts) -> None:
    """Who asks is answered, and whoever looks after the loop is told."""
    loop, errors = asyncio.get_running_loop(), list[object]()
    loop.set_exception_handler(lambda _, context: errors.append(context["exception"]))
    with pytest.raises(WireError, match="the node failed: ZeroDivisionError"):
        await asyncio.to_thread(ask_loop, loop, lambda: 1 // 0, 30.0)
    assert [type(error) for error in errors] == [ZeroDivisionError]


@over_flight
async def test_a_call_that_fails_unexpectedly(hosts: Hosts) -> None:
    first, _ = await hosts.node("n1", "a"), await hosts.node("n2", "b")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Hello, "from_bytes", lambda *_: 1 // 0)
        first.transport.send("a", "b", Grant(1))
        await first.until(lambda: first.numbers("a", "b") == [BROKEN])


# Strangers


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(1000),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\x00\x00\x00\x00\x00\x01",
        random.Random(1).randbytes(100_000),
    ],
    ids=["silent", "http", "zeros", "oversized", "random"],
)
def test_bytes_of_strangers_disturb_nobody(data: bytes) -> None:
    async def scenario(hosts: Hosts) -> None:
        first, second = await hosts.pair()
        stranger = socket.create_connection(("127.0.0.1", second.transport.port))  # type: ignore[attr-defined]
        with stranger:
            try:
                stranger.sendall(data)
            except OSError:
                assert data, "it was thrown out before it had said all"
            first.transport.send("a", "b", Grant(1))
            await second.until(lambda: len(second.heard["b"]) == 2)
            assert not first.counters("n2").broken
            # Who says nothing keeps no node from stopping.
            async with asyncio.timeout(5):
                await second.transport.stop()

    run("flight", scenario)


def exchange(port: int, hello: bytes, *things: bytes) -> list[bytes]:
    """What the node answers to a caller that speaks Flight, and says this."""
    answers = []
    options = [("grpc.enable_http_proxy", 0), ("grpc.use_local_subchannel_pool", 1)]
    with fl.FlightClient(f"grpc://127.0.0.1:{port}", generic_options=options) as client:
        writer, reader = client.do_exchange(fl.FlightDescriptor.for_command(hello))
        try:
            # Before it says anything: a node that breaks the connection takes what was not yet read of it along.
            answers.append(reader.read_chunk().app_metadata.to_pybytes())
            for thing in things:
                writer.write_metadata(thing)
            while True:
                answers.append(reader.read_chunk().app_metadata.to_pybytes())
        except (fl.FlightError, pa.ArrowException, OSError, StopIteration):
            pass
        with suppress(fl.FlightError, pa.ArrowException, OSError):
            writer.close()
    return answers


@pytest.mark.parametrize(
    ("hello", "answer"),
    [
        (b"", "no hello"),
        (b"junk", "no hello"),
        (b'["auroral", 2]', "protocol version 2 is spoken there, 1 here"),
        (bytes(300_000), "a hello of 300000 bytes"),
        (Hello(Identity.of("n9", BUCKET), "n3", 1).to_bytes(), "it looks for 'n3', and this is 'n1'"),
        (Hello(Identity.of("n1", BUCKET), "n1", 1).to_bytes(), "two nodes have the name 'n1'"),
        (Hello(Identity.of("n9", 1), "n1", 1).to_bytes(), "its bucket interval is 1 us"),
    ],
    # A life is random: names of tests must be the same in each process.
    ids=["empty", "junk", "version", "oversized", "another node", "same name", "bucket"],
)
def test_a_hello_that_is_refused_is_answered_and_logged(
    hello: bytes, answer: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(hosts: Hosts) -> None:
        node = await hosts.node("n1", "a")
        (said,) = await asyncio.to_thread(exchange, node.transport.port, hello)  # type: ignore[attr-defined]
        assert answer in said.decode().replace('\\"', '"')
        await node.until(lambda: node.counters("(strangers)").refused.total() == 1)
        assert [record for record in caplog.records if answer in record.getMessage()]
        assert not node.heard

    with caplog.at_level(logging.WARNING):
        run("flight", scenario)


@pytest.mark.parametrize(
    "things",
    [
        [b"junk"],
        [bytes(500_000)],
        [Open(1, "x", 1, "a", 1, "control", "").to_bytes(), piece_head(1, 8) + b"whatever"],  # type: ignore[arg-type]
        [piece_head(1, 8) + b"whatever"],
    ],
    ids=["junk", "oversized", "no message", "no channel"],
)
def test_a_peer_that_speaks_nonsense_is_cut_off(things: list[bytes]) -> None:
    async def scenario(hosts: Hosts) -> None:
        node, other = await hosts.node("n1", "a"), await hosts.node("n2", "b")
        hello = Hello(Identity.of("n9", BUCKET), "n1", 1).to_bytes()
        answers = await asyncio.to_thread(exchange, node.transport.port, hello, *things)  # type: ignore[attr-defined]
        assert Hello.from_bytes(answers[0]).identity.node == "n1"
        await node.until(lambda: node.counters("(strangers)").broken.total() == 1)
        assert not node.heard
        other.transport.send("b", "a", Grant(1))
        await node.until(lambda: node.heard.get("a"))

    run("flight", scenario)


def test_another_node_at_the_address_is_not_talked_to() -> None:
    async def scenario(hosts: Hosts) -> None:
        first, second = await hosts.node("n1", "a"), await hosts.node("n2", "b")
        hosts.book.locate("n3", hosts.book.nodes["n2"])
        hosts.book.place("c", "n3")
        first.transport.send("a", "c", Grant(1))
        await first.until(lambda: first.heard.get("a"))
        assert first.heard["a"] == [("c", BROKEN)] and not second.heard

    run("flight", scenario)


# TLS


@pytest.mark.slow
def test_tls(caplog: pytest.LogCaptureFixture) -> None:
    ours, others = issue(["n1", "n2", "n6", "n7"]), issue(["n4"])

    async def scenario(hosts: Hosts) -> None:
        node = await hosts.node("n1", "a", certificates=ours["n1"])
        good = await hosts.node("n2", "b", certificates=ours["n2"])
        good.transport.send("b", "a", Grant(1))
        await node.until(lambda: node.heard.get("a"))
        node.transport.send("a", "b", Grant(2))
        await good.until(lambda: good.heard.get("b"))
        assert node.numbers("a", "b") == [1] and good.numbers("b", "a") == [2]
        refused = {
            "without": None,
            "of another authority": others["n4"],
            "of another name": ours["n6"],
        }
        for number, certificates in enumerate(refused.values(), 3):
            core = f"c{number}"
            bad = await hosts.node(f"n{number}", core, certificates=certificates)
            # Neither is it served, nor talked to.
            bad.transport.send(core, "a", Grant(9))
            await bad.until(lambda bad=bad, core=core: bad.heard.get(core))
            node.transport.send("a", core, Grant(9))
            await node.until(lambda core=core: (core, BROKEN) in node.heard["a"])
            assert bad.numbers(core, "a") == [BROKEN]
        assert node.numbers("a", "b") == [1] and len(node.heard["a"]) == 4
        assert node.counters("(strangers)").refused["the certificate of … comes with the name …"] == 1
        said = "the certificate of 'n6' comes with the name 'n5'"
        assert [record for record in caplog.records if said in record.getMessage()]

    with caplog.at_level(logging.WARNING):
        run("flight", scenario)


def test_certificates_in_a_folder_are_for_its_owner_alone(tmp_path: Path) -> None:
    ours = issue(["n1"])["n1"]
    ours.write(tmp_path / "tls" / "n1")
    assert Certificates.from_folder(tmp_path / "tls" / "n1") == ours
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "tls" / "n1").iterdir()} == {0o600}
    assert stat.S_IMODE((tmp_path / "tls" / "n1").stat().st_mode) == 0o700


def test_a_closed_book_lets_in_only_who_is_in_it() -> None:
    """Also of those that have a certificate. Whoever is refused is told of."""

    async def scenario(hosts: Hosts) -> None:
        ours, told = issue(["n1", "n2"]), list[str]()
        node = await hosts.node("n1", "a", certificates=ours["n1"])
        node.transport.told_refused = lambda kind, detail: told.append(f"{kind}: {detail}")
        other = await hosts.node("n2", "b", certificates=ours["n2"])
        other.transport.book = replace(hosts.book, nodes=dict(hosts.book.nodes), cores=dict(hosts.book.cores))
        hosts.book.closed = True
        hosts.book.locate("n2", None)
        hosts.book.place("b", None)
        other.transport.send("b", "a", Grant(1))
        await other.until(lambda: other.heard.get("b"))
        assert other.numbers("b", "a") == [BROKEN] and not node.heard
        assert told and told[0].startswith("… is nobody of this deployment: hello: 'n2' is nobody")
        hosts.book.place("b", "n2")
        # What is said just when a link breaks is lost with it, and its sender is told so.
        await node.until(lambda: node.heard.get("a") or other.transport.send("b", "a", Grant(2)))
        node.transport.refuse("n2")
        before = len(told)
        await node.until(lambda: node.numbers("a", "b")[-1] == BROKEN)
        refused = node.counters("n2").refused
        await node.until(lambda: refused["the link is cut"] or other.transport.send("b", "a", Grant(3)))
        assert len(told) == before, "a cut is on purpose"

    run("flight", scenario)


# Threads and ports


@over_flight
async def test_a_stop_leaves_no_thread_and_no_port(hosts: Hosts) -> None:
    first, second = await hosts.pair()
    third = await hosts.node("n3", "c")
    for node, core in ((first, "a"), (second, "b")):
        node.transport.send(core, "c", Grant(1))
    await third.until(lambda: len(third.heard.get("c", [])) == 2)
    assert [thread for thread in threading.enumerate() if thread.name.startswith("wire-")]
    for node in (first, second, third):
        await node.transport.stop()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("wire-")]
    for node in (first, second, third):
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", node.transport.port))  # type: ignore[attr-defined]
    again = await hosts.node("n1", "a", port=first.transport.port)  # type: ignore[attr-defined]
    assert again.transport.port == first.transport.port  # type: ignore[attr-defined]


@over_flight
async def test_a_port_that_is_taken_is_said(hosts: Hosts) -> None:
    # gRPC shares a port with whoever shares it too: this one does not.
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(WireError, match="cannot listen"):
        await hosts.node("n1", "a", port=taken.getsockname()[1])


def test_addresses_as_grpc_writes_them() -> None:
    assert grpc_address("ipv4:127.0.0.1:4711") == ("127.0.0.1", 4711)
    assert grpc_address("ipv6:%5B::1%5D:4711") == ("::1", 4711)
    assert grpc_address("ipv6:[::ffff:10.0.0.1]:5") == ("10.0.0.1", 5)
    assert grpc_address("unix:/tmp/x") is None
