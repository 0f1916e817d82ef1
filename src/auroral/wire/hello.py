"""What two nodes say to each other first, and when they refuse each other.

Positions in messages are bucket numbers, so both must mean the same by them: a peer with another bucket interval is refused. (Receivers
do not cut into buckets of their own.)
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, replace

from auroral.wire.errors import WireError
from auroral.wire.fields import number, parts, text, wrong
from auroral.wire.limits import MOST_PIECE

VERSION = 1
"""Of everything that is said on a connection. Other versions are refused: all nodes of a deployment are changed together."""
_MARK = "auroral"


def new_life() -> str:
    """Tells a process from every earlier one of the same name."""
    return secrets.token_hex(16)


@dataclass(frozen=True, slots=True)
class Identity:
    """Of a node, for as long as its process lives."""

    node: str
    bucket: int
    """The bucket interval, in microseconds."""
    fingerprint: str = ""
    """Of the engine: whoever says another one computes other results. Empty for who has none, a client."""
    life: str = ""

    @staticmethod
    def of(node: str, bucket: int, fingerprint: str = "") -> Identity:
        return Identity(node, bucket, fingerprint, new_life())


@dataclass(frozen=True, slots=True)
class Hello:
    identity: Identity
    to: str
    """The node that is meant: another one may have got its address."""
    attempt: int
    """How often the speaker has tried to connect to this peer: tells an attempt that was overtaken from one behind a break."""
    seen_as: str = ""
    """In an answer: the address that the other one comes from."""

    def to_bytes(self) -> bytes:
        own = self.identity
        said = [_MARK, VERSION, own.node, own.bucket, own.fingerprint, own.life, self.to, self.attempt, self.seen_as]
        return json.dumps(said).encode()

    @staticmethod
    def from_bytes(data: bytes, where: str = "hello") -> Hello:
        if len(data) > MOST_PIECE:
            raise WireError(f"a hello of {len(data)} bytes", where, f"at most {MOST_PIECE}")
        try:
            said = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise WireError(f"no hello: {str(error)[:200]}", where, "a JSON array") from error
        if type(said) is not list or len(said) < 2 or said[0] != _MARK:
            raise WireError("this is no hello of Auroral", where, f"version {VERSION} of its protocol")
        if said[1] != VERSION or type(said[1]) is not int:
            raise WireError(
                f"protocol version {str(said[1])[:20]} is spoken there, {VERSION} here",
                where,
                f"version {VERSION}",
                "run the same release of Auroral on all nodes",
            )
        names = ("node", "bucket", "fingerprint", "life", "to", "attempt", "seen_as")
        node, bucket, fingerprint, life, to, attempt, seen = parts(said[2:], where, *names)
        optional = {"fingerprint": fingerprint, "seen_as": seen}
        for name, value in optional.items():
            if value != "":
                text(value, f"{where}, {name}")
        if type(bucket) is not int or bucket <= 0:
            raise wrong(bucket, f"{where}, bucket", "microseconds above 0")
        identity = Identity(text(node, f"{where}, node"), bucket, fingerprint, text(life, f"{where}, life"))
        return Hello(identity, text(to, f"{where}, to"), number(attempt, f"{where}, attempt"), seen)

    def seen(self, address: str) -> Hello:
        return replace(self, seen_as=address)


def check_hello(mine: Identity, theirs: Hello) -> None:
    """WireError where the two must not talk."""
    peer = theirs.identity
    where = f"hello of {peer.node}"
    if theirs.to != mine.node:
        raise WireError(
            f"it looks for {theirs.to!r}, and this is {mine.node!r}", where, next_step="correct the address book"
        )
    if peer.node == mine.node:
        raise WireError(f"two nodes have the name {peer.node!r}", where, next_step="rename one of them")
    if peer.bucket != mine.bucket:
        raise WireError(
            f"its bucket interval is {peer.bucket} us, the one here {mine.bucket} us",
            where,
            "the same on all nodes",
            "deploy one diagram on both",
        )
    if mine.fingerprint and peer.fingerprint and mine.fingerprint != peer.fingerprint:
        raise WireError(
            f"its engine is {peer.fingerprint!r}, the one here {mine.fingerprint!r}",
            where,
            "the same, or replicas would differ in their results",
            "install the same versions on both nodes",
        )
