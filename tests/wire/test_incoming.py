"""Whatever comes over a connection: whole messages, or its end."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auroral.dpc.values import Content, Grant, Stable
from auroral.wire import incoming as module
from auroral.wire.codec import encode
from auroral.wire.errors import WireError
from auroral.wire.incoming import Arrival, Came, Incoming, Unread
from auroral.wire.lanes import Way
from auroral.wire.limits import MOST_CORES, MOST_PIECE
from auroral.wire.outgoing import Outgoing
from auroral.wire.things import Beat, Cores, Open, Parted, Shut, Taken, piece_head

CONTROL = Open(1, "a", 1, "b", 1, Way.CONTROL, "")
CORRECT = Open(2, "a", 1, "b", 1, Way.CORRECT, "s")
LARGE = Stable("s", 1, 2, (Content(5, 100_000, pa.table({"v": pa.array(range(100_000), pa.int64())})),))
GRANT = encode(Grant(1)).body().to_pybytes()


def received(incoming: Incoming, *things: bytes) -> list[Arrival | None]:
    came = [incoming.receive(pa.py_buffer(thing)) for thing in things]
    return [one.read() if isinstance(one, Unread) else one for one in came]


def everything() -> list[bytes]:
    """One of each thing, and a message of many pieces."""
    outgoing = Outgoing()
    for said in (CONTROL, CORRECT, Cores((("b", 3),)), Taken(4, 100), Parted("b", "a", 3), Beat()):
        outgoing.say(said.to_bytes())
    outgoing.tell(1, encode(Grant(7)))
    outgoing.open(2, Way.CORRECT)
    outgoing.give(2, encode(LARGE))
    return [*iter(outgoing.take, None), Shut(2).to_bytes()]


def test_what_was_sent_comes() -> None:
    found = [one for one in received(Incoming(), *everything()) if one is not None]
    assert found[0] == Cores((("b", 3),)) and found[1] == Taken(4, 100)
    assert found.pop(2) == Parted("b", "a", 3)
    grant, large = found[2], found[3]
    assert isinstance(grant, Came) and grant.message == Grant(7) and grant.channel == CONTROL
    assert isinstance(large, Came) and large.message == LARGE and large.size == encode(LARGE).size
    assert large.message.contents[0].rows.equals(LARGE.contents[0].rows)
    assert len(found) == 4


@pytest.mark.parametrize(
    ("things", "complaint"),
    [
        ([b""], "0 bytes at once"),
        ([bytes(MOST_PIECE + 1)], "bytes at once"),
        ([b"\x00"], "kind 0"),
        ([b"\x09abc"], "kind 9"),
        ([b"\x08abc"], "cannot be read"),
        ([b'\x08["a","b"]'], "2 fields instead of 3"),
        ([b'\x08["a","b",-1]'], "-1 is not valid"),
        ([Cores(tuple((f"c{n}", n) for n in range(MOST_CORES + 1))).to_bytes()], "4097 cores at once"),
        ([b"\x07x"], "kind 7"),
        ([b"\x01\0"], "cannot be read"),
        ([b"\x05" + bytes(20)], "cannot be read"),
        ([b"\x03not json"], "cannot be read"),
        ([b"\x03[1,2]"], "2 fields instead of 7"),
        ([b'\x03[1,"a",1,"b",1,"sideways",""]'], "'sideways' is not valid"),
        ([b'\x03[1,"a",1,"b",1,"control","s"]'], "a stream for all but control"),
        ([b'\x03[1,"a",1,"b",1,"fresh",""]'], "a stream for all but control"),
        ([b'\x06[false,[["a",-1]]]'], "-1 is not valid"),
        ([b'\x06[1,[["a",1]]]'], "whether more come"),
        ([CONTROL.to_bytes(), CONTROL.to_bytes()], "channel 1 is opened"),
        ([piece_head(1, 64) + GRANT], "channel 1 is not open"),
        ([Shut(1).to_bytes()], "channel 1 is not open"),
        ([CONTROL.to_bytes(), piece_head(1, 64)], "a piece is empty"),
        ([CONTROL.to_bytes(), piece_head(1, 0) + b"x"], "a message of 0 bytes"),
        ([CONTROL.to_bytes(), piece_head(1, 1 << 40) + b"x"], "a message of 1099511627776 bytes"),
        ([CONTROL.to_bytes(), piece_head(1, None) + b"x"], "pieces of two messages"),
        ([CONTROL.to_bytes(), piece_head(1, 9) + b"x", piece_head(1, 9) + b"x"], "pieces of two messages"),
        ([CONTROL.to_bytes(), piece_head(1, 1) + b"xx"], "more came than was announced"),
        ([CONTROL.to_bytes(), piece_head(1, 4) + b"junk"], "end before a header|too large"),
        ([CORRECT.to_bytes(), piece_head(2, 64) + GRANT], "a Grant came"),
    ],
)
def test_what_is_refused(things: list[bytes], complaint: str) -> None:
    with pytest.raises(WireError, match=complaint):
        received(Incoming(), *things)


def test_messages_that_are_never_finished_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_UNFINISHED", 1000)
    incoming = Incoming()
    received(incoming, CONTROL.to_bytes(), CORRECT.to_bytes(), piece_head(1, 5000) + bytes(900))
    with pytest.raises(WireError, match="more came"):
        received(incoming, piece_head(2, 5000) + bytes(101))
    # What was given up does not count.
    incoming = Incoming()
    received(incoming, CONTROL.to_bytes(), CORRECT.to_bytes(), piece_head(1, 5000) + bytes(900), Shut(1).to_bytes())
    received(incoming, piece_head(2, 5000) + bytes(101))


def test_channels_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CHANNELS", 1)
    with pytest.raises(WireError, match="channel 2 is opened"):
        received(Incoming(), CONTROL.to_bytes(), CORRECT.to_bytes())


THINGS = everything()


@given(st.randoms(use_true_random=False))
def test_whatever_is_done_to_the_bytes(chance: random.Random) -> None:
    things = [bytearray(thing) for thing in THINGS]
    for _ in range(chance.randint(1, 3)):
        thing = chance.choice(things)
        # Most is rows: what stands before them is hit as often.
        reach = chance.choice((len(thing), min(len(thing), 80)))
        match chance.choice(("change", "cut", "swap")):
            case "change" if thing:
                thing[chance.randrange(max(1, reach))] = chance.randrange(256)
            case "cut":
                del thing[chance.randint(0, reach) :]
            case _:
                at, to = chance.randrange(len(things)), chance.randrange(len(things))
                things[at], things[to] = things[to], things[at]
    try:
        received(Incoming(), *map(bytes, things))
    except WireError:
        return


@given(st.lists(st.binary(min_size=1, max_size=60), max_size=5))
def test_random_bytes(things: list[bytes]) -> None:
    try:
        received(Incoming(), CONTROL.to_bytes(), *things)
    except WireError:
        return


def test_cores_are_said_in_as_many_things_as_it_takes() -> None:
    # The longest names there may be, of the characters that take most.
    lives = {f"core{number:020}" + "\N{GRINNING FACE}" * 1000: number for number in range(300)}
    said = Cores.all(lives)
    assert all(len(one.to_bytes()) <= MOST_PIECE for one in said)
    found = [one for one in received(Incoming(), *(one.to_bytes() for one in said)) if isinstance(one, Cores)]
    assert dict(pair for one in found for pair in one.lives) == lives
    assert [one.more for one in found] == [True] * (len(found) - 1) + [False]
    assert Cores.all({}) == [Cores((), more=False)]
