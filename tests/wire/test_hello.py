"""Who may talk to whom."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auroral.wire.certificates import Certificates
from auroral.wire.errors import WireError
from auroral.wire.hello import VERSION, Hello, Identity, check_hello

MINE = Identity.of("n1", 500_000, "engine 7")
THEIRS = Identity.of("n2", 500_000, "engine 7")


def said(**changes: object) -> bytes:
    fields = {
        "mark": "auroral",
        "version": VERSION,
        "node": "n2",
        "bucket": 500_000,
        "fingerprint": "f",
        "life": "0f",
        "to": "n1",
        "attempt": 3,
        "seen_as": "",
    }
    return json.dumps(list((fields | changes).values())).encode()


def test_what_is_said_comes() -> None:
    hello = Hello(THEIRS, "n1", 3, "ipv4:1.2.3.4:5")
    assert Hello.from_bytes(hello.to_bytes()) == hello
    check_hello(MINE, hello)


def test_each_process_has_a_life_of_its_own() -> None:
    assert Identity.of("n1", 1).life != Identity.of("n1", 1).life


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"GET / HTTP/1.1", "no hello"),
        (b"[" * 100_000, "no hello"),
        (b'["auroral"]', "no hello of Auroral"),
        (b'["http",1]', "no hello of Auroral"),
        (bytes(200_000), "a hello of 200000 bytes"),
        (said(version=2), "version 2 is spoken there, 1 here"),
        (said(version=True), "version True is spoken"),
        (json.dumps(["auroral", 99, {"other": "fields"}]).encode(), "version 99 is spoken there"),
        (said(more=1), "8 fields instead of 7"),
        (said(node=""), "'' is not valid"),
        (said(node=7), "7 is not valid"),
        (said(bucket=0), "0 is not valid"),
        (said(bucket=0.5), "0.5 is not valid"),
        (said(life=""), "'' is not valid"),
        (said(attempt=-1), "-1 is not valid"),
        (said(fingerprint=[]), "is not valid"),
        (said(seen_as="\n"), "is not valid"),
    ],
)
def test_what_is_no_hello(data: bytes, complaint: str) -> None:
    with pytest.raises(WireError, match=complaint):
        Hello.from_bytes(data)


@given(st.binary(max_size=200))
def test_random_bytes(data: bytes) -> None:
    with pytest.raises(WireError):
        Hello.from_bytes(data)


@pytest.mark.parametrize(
    ("hello", "complaint"),
    [
        (Hello(Identity.of("n2", 1_000_000, "engine 7"), "n1", 1), "interval is 1000000 us, the one here 500000 us"),
        (Hello(Identity.of("n2", 500_000, "engine 8"), "n1", 1), "its engine is 'engine 8', the one here 'engine 7'"),
        (Hello(THEIRS, "n3", 1), "it looks for 'n3', and this is 'n1'"),
        (Hello(Identity.of("n1", 500_000), "n1", 1), "two nodes have the name 'n1'"),
    ],
)
def test_who_is_refused(hello: Hello, complaint: str) -> None:
    with pytest.raises(WireError, match=complaint):
        check_hello(MINE, hello)


def test_a_client_has_no_engine_to_differ() -> None:
    check_hello(MINE, Hello(Identity.of("client", 500_000), "n1", 1))


def test_certificates_that_are_missing_are_named(tmp_path: Path) -> None:
    for name in ("ca.pem", "cert.pem"):
        (tmp_path / name).write_text("-----BEGIN CERTIFICATE-----\n")
    with pytest.raises(WireError, match=r"key\.pem: a file for TLS cannot be read"):
        Certificates.from_folder(tmp_path)
    (tmp_path / "key.pem").write_text("secret")
    with pytest.raises(WireError, match=r"key\.pem: this is no PEM file"):
        Certificates.from_folder(tmp_path)
