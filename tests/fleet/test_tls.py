"""Processes that prove to one another who they are, and strangers at their ports."""

from __future__ import annotations

import json
import socket
import stat
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pyarrow.flight as fl
import pytest

import auroral
from auroral.client import connect
from auroral.node.fleet.clock import Clock
from auroral.node.fleet.deployed import DeploymentError
from auroral.node.fleet.eventlog import EventLog, events_in
from auroral.node.fleet.preparing import prepare
from auroral.node.fleet.processes import Fleet
from auroral.node.fleet.refusals import Refusals
from auroral.node.verify import verify_folder
from auroral.wire.authority import issue
from auroral.wire.certificates import READER, READERS, Certificates
from auroral.wire.hello import Hello, Identity
from fleet.deployments import Feeds, client, frontier, until, watch


def answered(fleet: Fleet, to: str, certificates: Certificates | None, ours: bytes, name: str) -> bytes:
    """What a node says to somebody who calls under this name; FlightError where nothing is said."""
    options: dict[str, Any] = {"tls_root_certs": ours, "override_hostname": to}
    if certificates is not None:
        options |= {"cert_chain": certificates.certificate, "private_key": certificates.key}
    hello = Hello(Identity.of(name, fleet.deployed.checked.diagram.bucket), to, 1)
    with fl.FlightClient(f"grpc+tls://{fleet.deployed.endpoint(to)}", **options) as caller:
        writer, reader = caller.do_exchange(
            fl.FlightDescriptor.for_command(hello.to_bytes()), fl.FlightCallOptions(timeout=20)
        )
        try:
            return bytes(reader.read_chunk().app_metadata.to_pybytes())
        finally:
            reader.cancel()
            with suppress(fl.FlightError):
                writer.close()


@pytest.mark.spark
@pytest.mark.slow
def test_it_fails_over_and_is_right_and_no_stranger_is_served(tmp_path: Path, spark: Any) -> None:
    folder = tmp_path / "live"
    fleet = Fleet(prepare(folder, watch().check(), tls=True))
    try:
        fleet = fleet.up(lambda _: None)
        ours = {name: Certificates.from_folder(folder / "tls" / name) for name in fleet.deployed.processes}
        with closing(Feeds(fleet)):
            until(lambda: frontier(fleet) > 4)
            # Who reads outputs has a certificate of another authority, which lets nobody speak to nodes.
            reader = Certificates.from_folder(folder / READERS / READER)
            with connect(folder) as reading:
                assert reading.table("sums").num_rows > 0
            # Without a certificate, with one of another authority, and without TLS.
            for stranger in (None, issue(["nb"])["nb"], reader):
                with pytest.raises(fl.FlightUnavailableError):
                    answered(fleet, "na", stranger, ours["na"].ca, "nb")
            at = fleet.deployed.endpoint("na")
            with socket.create_connection((at.host, at.port), 10) as plain:
                plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
                with suppress(ConnectionError):
                    assert b"auroral" not in plain.recv(1000)
            # With that of another process, under a name of its own.
            said = json.loads(answered(fleet, "na", ours["west"], ours["na"].ca, "nx"))
            assert said[0] == "refused" and "the certificate of 'west' comes with the name 'nx'" in said[2]
            refused = until(lambda: len(found := noted(fleet)) >= 4 and found)
            assert "a TLS handshake failed: peer did not return a certificate" in refused
            assert any("certificate verify failed" in detail for detail in refused)
            fleet.kill("na")
            before = frontier(fleet)
            until(lambda: frontier(fleet) > before + 4)
            fleet.up(lambda _: None)
            fleet.cut("west", "nb")
            before = frontier(fleet)
            until(lambda: frontier(fleet) > before + 4)
            fleet.heal("west", "nb")
            before = frontier(fleet)
            until(lambda: frontier(fleet) > before + 4 and not client(fleet)["streams"]["sums"]["tentative_now"])
    finally:
        fleet.down(lambda _: None)
    report = verify_folder(spark, folder)
    assert report.ok, report.text


def noted(fleet: Fleet) -> list[str]:
    found = [e for e in events_in(fleet.deployed.folder) if e["process"] == "na" and e["event"] == "refused"]
    return [str(e["detail"]) for e in found]


# What is made, and what cannot be


def test_keys_are_for_their_owner_alone(tmp_path: Path) -> None:
    made = prepare(tmp_path / "live", watch().check(), tls=True)
    keys = sorted((tmp_path / "live" / "tls").glob("*/key.pem"))
    assert [key.parent.name for key in keys] == sorted(made.processes)
    assert {stat.S_IMODE(key.stat().st_mode) for key in keys} == {0o600}
    assert len({key.read_bytes() for key in keys}) == len(keys)
    assert not (tmp_path / "live" / "tls" / "ca.key").exists()
    assert not prepare(tmp_path / "open", watch().check()).agreed.tls
    assert not list((tmp_path / "open").glob("tls*"))
    with pytest.raises(
        DeploymentError, match=r"outputs would be served at 10.0.0.7:15500(.|\n)*next: --tls; or, (.|\n)*--insecure"
    ):
        prepare(tmp_path / "served", watch().check(), serve="10.0.0.7:15500")


def test_without_certificates_nobody_listens_where_others_reach(tmp_path: Path) -> None:
    for host in ("10.0.0.7", "node.example", "0.0.0.0", "[::]"):
        text = f'<deploy><node endpoint="{host}:16990" query="watch"/></deploy>'
        with pytest.raises(DeploymentError, match=r"watcha would listen at (.|\n)*next: --tls; or, (.|\n)*--insecure"):
            prepare(tmp_path / "live", watch().check(), text)
        assert not (tmp_path / "live").exists()
    for host in ("127.0.0.2", "localhost", "[::1]", ""):
        text = f'<deploy><node endpoint="{host}:16990" query="watch"/></deploy>'
        prepare(tmp_path / f"here{host}", watch().check(), text)


def test_a_name_that_no_certificate_can_have(tmp_path: Path) -> None:
    d = auroral.diagram("d", bucket="1s")
    d.input("señal", "n int").filter("high", "n > 2").output(availability="8s")
    with pytest.raises(DeploymentError, match=r"no certificate can be made out to 'señal'(.|\n)*allowed: 1 to 63"):
        prepare(tmp_path / "live", d.check(), tls=True)
    assert not (tmp_path / "live").exists()


def test_strangers_do_not_fill_the_disk(tmp_path: Path) -> None:
    class Later(Clock):
        ahead = 0.0

        def now(self) -> float:
            return super().now() + self.ahead

    (tmp_path / "events").mkdir()
    clock = Later()
    events = EventLog(tmp_path / "events" / "na.jsonl", "na", clock)
    refusals = Refusals(events, clock)
    for number in range(1000):
        refusals.note("one kind", f"of one kind, number {number}")
    refusals.note("another", "of another kind")
    clock.ahead = 61
    refusals.note("one kind", "the last")
    events.close()
    found = [(e["count"], e["detail"]) for e in events_in(tmp_path)]
    assert found == [(1, "of one kind, number 0"), (1, "of another kind"), (1000, "the last")]
