"""Rows are looked through once, before anything is done with them, and forgotten with them."""

from __future__ import annotations

import gc
import threading

import pyarrow as pa
import pytest

from auroral.dpc.coverage import NOTHING
from auroral.dpc.values import Content, Message, Stable, Tentative
from auroral.wire import measuring
from auroral.wire.codec import decode, encode, encode_all
from auroral.wire.errors import WireError
from auroral.wire.measuring import measured

WRONG = pa.StringArray.from_buffers(2, pa.py_buffer(b"\0\0\0\0\xff\xff\xff\x3f\1\0\0\0"), pa.py_buffer(b"x"))
"""A text that ends far behind its bytes."""


def table() -> pa.Table:
    return pa.table({"a": [1, 2, 3], "b": ["x", None, "z"]})


def stable(*rows: pa.Table) -> Stable:
    return Stable("s", 1, 2, tuple(Content(number, one.num_rows, one) for number, one in enumerate(rows)))


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[pa.Table]:
    found, plain = list[pa.Table](), measuring._check_values
    monkeypatch.setattr(measuring, "_check_values", lambda rows: found.append(rows) or plain(rows))
    return found


def test_rows_are_looked_through_once_for_all_readers(looks: list[pa.Table]) -> None:
    rows = table()
    said: list[Message] = [
        stable(rows),
        stable(rows, rows),
        Tentative("s", 1, 2, Content(1, 3, rows), True, 0, NOTHING),
    ]
    for message in said:
        for _ in range(3):
            (encoded,) = encode_all(message)
            assert encoded.body().size == encoded.size
    assert looks == [rows]
    encode_all(stable(rows.slice(0, 2)))
    assert len(looks) == 2, "parts of them are others"


def test_who_makes_rows_can_have_them_looked_through_elsewhere(looks: list[pa.Table]) -> None:
    rows = table()
    maker = threading.Thread(target=measured, args=(rows,))
    maker.start()
    maker.join()
    encode(stable(rows))
    assert len(looks) == 1


def test_what_came_is_passed_on_without_a_further_look(looks: list[pa.Table]) -> None:
    body = encode(stable(table())).body()
    looks.clear()
    came = decode(body)
    assert encode(came).body() == body
    assert not looks


def test_nothing_is_kept_of_rows_that_are_gone() -> None:
    gc.collect()
    before = len(measuring._seen)
    rows = [table() for _ in range(10)]
    encode(stable(*rows))
    assert len(measuring._seen) == before + 10
    rows.clear()
    gc.collect()
    assert len(measuring._seen) == before


def test_wrong_ones_are_refused_each_time_and_before_anything_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow's writer would follow their offsets."""
    written, plain = list[pa.Table](), measuring.write
    monkeypatch.setattr(measuring, "write", lambda rows, sink: written.append(rows) or plain(rows, sink))
    right, wrong = table(), pa.table({"c": WRONG})
    for message in (stable(wrong), stable(wrong, right), stable(right, wrong)):
        for encoding in (encode, encode_all):
            with pytest.raises(WireError, match="rows that are not valid"):
                encoding(message)
    assert written == [right]
