"""Messages of the protocol as bytes, and back.

A message is the length of its header (4 bytes), the header, and the rows of its contents, each part padded with zeros to 64 bytes. The
header is a JSON array: the kind, then the fields of the dataclass in their order. There are no names of fields to be wrong, and JSON's
reader and writer are the fastest that the standard library has. Rows are Arrow IPC streams. Nothing is ever unpickled.

What is read is a whole message whose every field was checked, or a WireError. What would be refused there is refused where it is written,
by the same checks: one wrong message is an error of who sends it, and breaks no connection. Positions are bucket numbers: peers must have the same
bucket interval, which their hello says (`auroral.wire.hello`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from auroral.dpc.values import Content, Gap, GiveState, Message, Snapshot, Stable, Tentative
from auroral.wire import rows as arrow
from auroral.wire.errors import WireError
from auroral.wire.kinds import BY_NAME, BY_TYPE, Announced, Kind
from auroral.wire.limits import ARRAYS_AT_ONCE, BUCKETS_AT_ONCE, MOST_HEADER, MOST_PAYLOAD, MOST_ROWS, ROWS_AT_ONCE
from auroral.wire.measuring import Measured, measured, write
from auroral.wire.rows import ALIGNMENT, padded
from auroral.wire.unfolding import Arrays

_LENGTH = 4
_SMALLER = "use a shorter bucket interval"
_LEAST = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False)


def _not_json(word: str) -> float:
    raise ValueError(f"{word} is no number")


_STRICT = json.JSONDecoder(parse_constant=_not_json)


@dataclass(frozen=True, slots=True)
class Encoded:
    """A message whose size is known and whose rows are still where they were: `body` writes them, wherever there is time for it."""

    header: bytes
    rows: tuple[tuple[Any, int], ...]
    """Batches and tables with the bytes that each takes."""
    size: int

    def body(self) -> pa.Buffer:
        """Header and rows one behind the other. Rows are copied once, to here."""
        begin = len(self.header).to_bytes(_LENGTH, "big") + self.header
        at = padded(len(begin))
        begin += bytes(at - len(begin))
        if not self.rows:
            return pa.py_buffer(begin)
        whole = pa.allocate_buffer(self.size)
        sink = pa.FixedSizeBufferWriter(whole)
        sink.write(begin)
        for rows, size in self.rows:
            write(rows, sink)
            # Zeros up to where the next part begins: never what was in this memory before.
            sink.write(bytes(padded(size) - size))
        return whole


def encode(message: Message) -> Encoded:
    """WireError for what can never be sent: whatever `decode` would refuse."""
    kind = BY_TYPE.get(type(message))
    if kind is None:
        raise WireError(f"a {type(message).__name__} is no message", "message", ", ".join(BY_NAME))
    carried: list[tuple[Any, Measured]] = []
    try:
        header = _LEAST.encode(_values(kind, message, carried)).encode()
    except (AttributeError, TypeError, ValueError, RecursionError) as error:
        raise WireError(
            f"a message cannot be written: {str(error)[:200]}", kind.name, "names, finite numbers, true or false"
        ) from error
    payload, arrays = sum(padded(takes.size) for _, takes in carried), Arrays()
    _check_sizes(len(header), payload, kind.name)
    for _, takes in carried:
        arrays.add(takes.columns, takes.batches, kind.name)
    _read(header)
    rows = tuple((rows, takes.size) for rows, takes in carried)
    return Encoded(header, rows, padded(_LENGTH + len(header)) + payload)


def encode_all(message: Message) -> tuple[Encoded, ...]:
    """One message, or several that mean the same, one behind the other: many buckets of many rows fit in none. All of it is checked
    before any of it is given."""
    if not isinstance(message, Stable) or len(message.contents) < 2:
        return (encode(message),)
    if message.held and len(message.held) != len(message.contents):
        raise _ages(message.held, message.contents)
    return tuple(
        encode(
            replace(
                message,
                begin=message.begin + cut.start,
                contents=message.contents[cut],
                held=message.held[cut],
            )
        )
        for cut in _cuts(message.contents)
    )


def _cuts(contents: tuple[Content, ...]) -> Iterator[slice]:
    begin = size = arrays = 0
    for at, content in enumerate(contents):
        takes = _measured(content) or Measured(0, 0, 0)
        more, several = padded(takes.size), takes.columns * (takes.batches + 1)
        full = size + more > ROWS_AT_ONCE or arrays + several > ARRAYS_AT_ONCE or at - begin == BUCKETS_AT_ONCE
        if at > begin and full:
            yield slice(begin, at)
            begin, size, arrays = at, 0, 0
        size, arrays = size + more, arrays + several
    yield slice(begin, len(contents))


def _values(kind: Kind, message: Message, carried: list[tuple[Any, Measured]]) -> list[Any]:
    values: list[Any] = [kind.name]
    for name in kind.names:
        value = getattr(message, name)
        if name in kind.writes:
            values.append(kind.writes[name](value))
        elif name == "contents":
            values.append([_announce(content, carried) for content in value])
        elif name == "content":
            values.append(_announce(value, carried))
        elif name == "snapshot":
            values.append((value.bucket, None if value.state is None else _announce(value.state, carried)))
        else:
            values.append(value)
    return values


def decode(body: pa.Buffer) -> Message:
    """The message, whole. Its rows lie in `body`, where it is aligned, and keep it from being freed."""
    header, payload = _parts(body)
    kind, read = _read(header)
    lying = _Payload(payload, kind.name)
    if kind.type is Stable:
        read["contents"] = tuple([lying.content(one) for one in read["contents"]])
    elif kind.type is Tentative:
        read["content"] = lying.content(read["content"])
    elif kind.type is GiveState:
        bucket, state = read["snapshot"]
        read["snapshot"] = Snapshot(bucket, None if state is None else lying.content(state))
    lying.done()
    found: Message = kind.type(**read)
    return found


def _read(header: bytes) -> tuple[Kind, dict[str, Any]]:
    """Every field of a header, checked; contents as they are announced."""
    try:
        values = _STRICT.decode(header.decode())
    except (ValueError, RecursionError) as error:
        raise WireError(f"a header cannot be read: {str(error)[:200]}", "message", "a JSON array") from error
    if type(values) is not list or not values or type(values[0]) is not str or values[0] not in BY_NAME:
        said = repr(values[0] if type(values) is list and values else values)[:60]
        raise WireError(f"{said} is no kind of message", "message", ", ".join(BY_NAME))
    kind = BY_NAME[values[0]]
    if len(values) - 1 != len(kind.names):
        allowed = ", ".join(kind.names) or "no fields"
        raise WireError(f"{len(values) - 1} fields instead of {len(kind.names)}", kind.name, allowed)
    read = {
        name: read(value, f"{kind.name}, {name}")
        for name, read, value in zip(kind.names, kind.reads, values[1:], strict=True)
    }
    if kind.type is Stable and read["held"] and len(read["held"]) != len(read["contents"]):
        raise _ages(read["held"], read["contents"])
    if kind.type is Gap and read["begin"] > read["end"]:
        raise WireError(f"a gap from {read['begin']} to {read['end']}", kind.name, "an end at or behind the begin")
    return kind, read


def _ages(held: tuple[float, ...], contents: tuple[Any, ...]) -> WireError:
    return WireError(f"{len(held)} ages of {len(contents)} buckets", "stable", "none, or as many")


def to_bytes(message: Message) -> bytes:
    whole: bytes = encode(message).body().to_pybytes()
    return whole


def from_bytes(data: bytes) -> Message:
    return decode(pa.py_buffer(data))


@dataclass(slots=True)
class _Payload:
    """What is behind the header, taken part by part."""

    data: pa.Buffer
    where: str
    at: int = 0
    arrays: Arrays = field(default_factory=Arrays)

    def content(self, told: Announced) -> Content:
        if told.size is None:
            return Content(told.hash, told.count)
        end = self.at + told.size
        if end > self.data.size:
            raise WireError(f"{self.data.size} bytes of rows end before {end}", self.where, "as many as announced")
        # A buffer of a single piece begins wherever the network put it.
        lies = _aligned(self.data.slice(self.at, told.size))
        found = arrow.read(lies, told.batch, told.count, self.where, self.arrays)
        _check_padding(self.data, end, min(padded(end), self.data.size), self.where)
        self.at = padded(end)
        return Content(told.hash, told.count, found)

    def done(self) -> None:
        if self.at != self.data.size:
            raise WireError(f"{self.data.size} bytes of rows instead of {self.at}", self.where, "as many as announced")


def _announce(content: Content, carried: list[tuple[Any, Measured]]) -> tuple[int, int, int | None, bool]:
    takes = _measured(content)
    if takes is None:
        return content.hash, content.count, None, False
    carried.append((content.rows, takes))
    return content.hash, content.count, takes.size, isinstance(content.rows, pa.RecordBatch)


def _measured(content: Content) -> Measured | None:
    """None where there are no rows. WireError for those that cannot be sent."""
    if content.rows is None:
        return None
    if not arrow.is_rows(content.rows):
        raise WireError(
            f"rows are a {type(content.rows).__name__}", "content", "a pyarrow RecordBatch or Table, or None"
        )
    if content.rows.num_rows != content.count:
        raise WireError(f"{content.rows.num_rows} rows are said to be {content.count}", "content", "as many")
    if content.count > MOST_ROWS:
        raise WireError(f"{content.count} are too many rows", "content", f"at most {MOST_ROWS}", _SMALLER)
    return measured(content.rows)


def _parts(body: pa.Buffer) -> tuple[bytes, pa.Buffer]:
    if body.size < _LENGTH:
        raise WireError(f"{body.size} bytes are no message", "message", "a header with its length before it")
    length = int.from_bytes(body.slice(0, _LENGTH).to_pybytes(), "big")
    begin = padded(_LENGTH + length)
    _check_sizes(length, max(0, body.size - begin), "message")
    if begin > body.size:
        raise WireError(f"{body.size} bytes end before a header of {length}", "message", "the whole header")
    _check_padding(body, _LENGTH + length, begin, "message")
    header: bytes = body.slice(_LENGTH, length).to_pybytes()
    return header, body.slice(begin)


def _check_sizes(header: int, payload: int, where: str) -> None:
    if header > MOST_HEADER:
        raise WireError(f"a header of {header} bytes is too large", where, f"at most {MOST_HEADER}")
    if payload > MOST_PAYLOAD:
        raise WireError(f"rows of {payload} bytes are too large", where, f"at most {MOST_PAYLOAD}", _SMALLER)


def _check_padding(data: pa.Buffer, begin: int, end: int, where: str) -> None:
    if end > begin and any(data.slice(begin, end - begin).to_pybytes()):
        raise WireError("something stands between the parts", where, "zeros")


def _aligned(data: pa.Buffer) -> pa.Buffer:
    if data.address % ALIGNMENT == 0:
        return data
    copied = pa.allocate_buffer(data.size)
    memoryview(copied)[:] = memoryview(data)
    return copied
