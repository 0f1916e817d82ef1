"""Every message of the protocol, by the name of its kind, with its fields in the order in which they are written."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, get_args

from auroral.dpc.coverage import Coverage, Level, Span
from auroral.dpc.layout import Wiring
from auroral.dpc.states import State
from auroral.dpc.switching import Lane, Offer
from auroral.dpc.values import (
    Ack,
    Ask,
    Confirm,
    Decided,
    Gap,
    GiveState,
    Grant,
    Hashes,
    Known,
    Message,
    Ping,
    Pong,
    Prepare,
    Promise,
    Refuse,
    Release,
    Rewire,
    Rewired,
    Stable,
    Subscribe,
    Tentative,
    Unsubscribe,
    Want,
    WantState,
)
from auroral.dpc.versions import Decision
from auroral.wire.fields import (
    Read,
    by_name,
    flag,
    hash_of_rows,
    hashed,
    listed,
    number,
    number_or_none,
    one_of,
    parts,
    seconds,
    text,
    wrong,
)
from auroral.wire.limits import MOST_ROWS


@dataclass(frozen=True, slots=True)
class Announced:
    """A content as the header tells of it: how many bytes of rows are behind the header, and whether they are one batch."""

    hash: int
    count: int
    size: int | None
    batch: bool


@dataclass(frozen=True, slots=True)
class Kind:
    name: str
    type: type
    names: tuple[str, ...]
    reads: tuple[Read, ...]
    writes: Mapping[str, Callable[[Any], Any]]
    """Of the fields that JSON cannot write as they are."""


# Parts of messages


def _content(value: Any, where: str) -> Announced:
    hash, count, size, batch = parts(value, where, "hash", "count", "size", "batch")
    found = Announced(
        hash_of_rows(hash, where),
        number(count, where),
        None if size is None else number(size, where),
        flag(batch, where),
    )
    if found.count > MOST_ROWS:
        raise wrong(count, where, f"at most {MOST_ROWS} rows")
    return found


def _span(value: Any, where: str) -> Span:
    begin, end, level = parts(value, where, "begin", "end", "level")
    span = number(begin, where), number(end, where), _level(level, where)
    if span[0] >= span[1]:
        raise wrong(value, where, "buckets from `begin` up to a later `end`")
    return span


_level, _spans = one_of(*Level), listed(_span)


def _spans_in_order(value: Any, where: str) -> tuple[Span, ...]:
    found: tuple[Span, ...] = _spans(value, where)
    if any(before[1] > after[0] for before, after in pairwise(found)):
        raise wrong(value, where, "spans in order, none overlapping")
    return found


def _coverage(value: Any, where: str) -> Coverage:
    return Coverage(by_name(_spans_in_order)(value, where))


def _ack(value: Any, where: str) -> Ack:
    need, reserve = parts(value, where, "need", "reserve")
    return Ack(number(need, where), seconds(reserve, where))


def _hashes(value: Any, where: str) -> Hashes:
    begin, hashes = parts(value, where, "begin", "hashes")
    return Hashes(number(begin, where), listed(hashed)(hashes, where))


def _offer(value: Any, where: str) -> Offer:
    state, fresh, frontier, kept_from = parts(value, where, "state", "fresh", "frontier", "kept_from")
    return Offer(_state(state, where), flag(fresh, where), number(frontier, where), number(kept_from, where))


_state = one_of(*State)


def _wiring(value: Any, where: str) -> Wiring:
    inputs, readers, peers = parts(value, where, "inputs", "readers", "peers")
    named = by_name(listed(text))
    return Wiring(named(inputs, where), named(readers, where), listed(text)(peers, where))


def _snapshot(value: Any, where: str) -> tuple[int, Announced | None]:
    bucket, state = parts(value, where, "bucket", "state")
    return number(bucket, where), None if state is None else _content(state, where)


def _decision(value: Any, where: str) -> Decision:
    starts, attempt = parts(value, where, "starts", "attempt")
    found = Decision(listed(number)(starts, where), number(attempt, where))
    if found.starts[:1] != (0,) or any(before >= after for before, after in pairwise(found.starts)):
        raise wrong(starts, where, "bucket 0, and each version behind the one before")
    return found


# How they are written


def _pairs(write: Callable[[Any], Any]) -> Callable[[Mapping[str, Any]], list[Any]]:
    return lambda mapping: [(name, write(value)) for name, value in mapping.items()]


def _same(value: Any) -> Any:
    return value


_write_ack = _pairs(lambda ack: (ack.need, ack.reserve))
_write_hashes = _pairs(lambda said: (said.begin, said.hashes))
_write_offers = _pairs(lambda offer: (offer.state, offer.fresh, offer.frontier, offer.kept_from))
_write_named = _pairs(_same)


def _write_wiring(wiring: Wiring) -> Any:
    return _write_named(wiring.inputs), _write_named(wiring.readers), wiring.peers


def _write_decision(decision: Decision) -> Any:
    return decision.starts, decision.attempt


def _kind(name: str, type: type, *reads: Read, **writes: Callable[[Any], Any]) -> Kind:
    return Kind(name, type, tuple(field.name for field in dataclasses.fields(type)), reads, writes)


KINDS = (
    _kind("subscribe", Subscribe, text, number, one_of(*Lane), number_or_none, flag, flag),
    _kind("unsubscribe", Unsubscribe, text, number),
    _kind("stable", Stable, text, number, number, listed(_content), listed(seconds)),
    _kind(
        "tentative",
        Tentative,
        text,
        number,
        number,
        _content,
        flag,
        seconds,
        _coverage,
        coverage=lambda coverage: _write_named(coverage.spans),
    ),
    _kind("confirm", Confirm, text, number, number, listed(hashed)),
    _kind("gap", Gap, text, number, number, number),
    _kind("want", Want, text, number, number),
    _kind(
        "ping",
        Ping,
        by_name(_ack),
        by_name(number),
        by_name(_hashes),
        seconds,
        acks=_write_ack,
        numbers=_write_named,
        hashes=_write_hashes,
    ),
    _kind("pong", Pong, by_name(_offer), by_name(number), offers=_write_offers, unknown=_write_named),
    _kind("ask", Ask, number, seconds),
    _kind("grant", Grant, number),
    _kind("refuse", Refuse, number),
    _kind("release", Release),
    _kind("want state", WantState, text),
    _kind("give state", GiveState, text, _snapshot),
    _kind("prepare", Prepare, number, number),
    _kind("promise", Promise, number, number, number),
    _kind("decided", Decided, _decision, decision=_write_decision),
    _kind("known", Known, _decision, decision=_write_decision),
    _kind("rewire", Rewire, number, _wiring, wiring=_write_wiring),
    _kind("rewired", Rewired, number),
)
BY_NAME = {kind.name: kind for kind in KINDS}
BY_TYPE = {kind.type: kind for kind in KINDS}
# A message or a field that is added to the protocol must be added here.
assert BY_TYPE.keys() == set(get_args(Message))
assert all(len(kind.names) == len(kind.reads) for kind in KINDS)
