"""What goes next over a connection: control first, lanes by weight, windows, and bounds on all that waits (L66)."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

import pyarrow as pa
import pytest

from auroral.dpc.coverage import NOTHING
from auroral.dpc.values import Content, Grant, Message, Stable, Tentative
from auroral.wire import outgoing as module
from auroral.wire.codec import Encoded, encode
from auroral.wire.incoming import Incoming, Unread
from auroral.wire.lanes import Way, stream_of, way_of
from auroral.wire.limits import MOST_FRESH, PIECE
from auroral.wire.outgoing import Outgoing
from auroral.wire.things import Open, Taken

ROWS = pa.table({"v": pa.array(range(100_000), pa.int64())})


def frame(fresh: bool = False, number: int = 0, rows: pa.Table = ROWS) -> Encoded:
    content = Content(number, rows.num_rows, rows)
    message = Tentative("s", 1, number, content, True, 0.0, NOTHING) if fresh else Stable("s", 1, number, (content,))
    return encode(message)


def taken(outgoing: Outgoing, count: int) -> list[bytes]:
    found = [outgoing.take() for _ in range(count)]
    return [thing for thing in found if thing is not None]


def channel_of(thing: bytes) -> int:
    return int.from_bytes(thing[1:5], "big")


def shares(outgoing: Outgoing, count: int) -> Counter[int]:
    """Bytes by channel."""
    found: Counter[int] = Counter()
    for thing in taken(outgoing, count):
        found[channel_of(thing)] += len(thing)
    return found


class TestSharesOfAConnection:
    def test_weights_of_three_to_one_give_three_to_one(self) -> None:
        outgoing = Outgoing({Way.FRESH: 3.0, Way.CORRECT: 1.0}, window=1 << 40)
        outgoing.open(1, Way.FRESH, ("a", "b", "s"))
        outgoing.open(2, Way.CORRECT, ("a", "b", "t"))
        for number in range(MOST_FRESH):
            outgoing.give(1, frame(fresh=True, number=number))
            outgoing.give(2, frame(number=number))
        found = shares(outgoing, 80)
        assert found[1] / found[2] == pytest.approx(3.0, rel=0.05)

    def test_frames_of_other_sizes_change_nothing(self) -> None:
        """Bytes are shared, not turns."""
        outgoing = Outgoing({Way.FRESH: 1.0, Way.CORRECT: 1.0}, window=1 << 40)
        for channel in (1, 2):
            outgoing.open(channel, Way.CORRECT)
        for number in range(2000):
            outgoing.give(1, frame(number=number, rows=ROWS.slice(0, 100)))
        for number in range(10):
            outgoing.give(2, frame(number=number))
        found = shares(outgoing, 1000)
        assert found[1] / found[2] == pytest.approx(1.0, rel=0.15)

    def test_what_one_does_not_use_the_others_get(self) -> None:
        outgoing = Outgoing({Way.FRESH: 3.0, Way.CORRECT: 1.0}, window=1 << 40)
        outgoing.open(1, Way.FRESH, ("a", "b", "s"))
        outgoing.open(2, Way.CORRECT, ("a", "b", "t"))
        for number in range(4):
            outgoing.give(2, frame(number=number))
        assert set(shares(outgoing, 10)) == {2}
        outgoing.give(1, frame(fresh=True))
        # It has no claim to what it did not use, and is not behind either.
        assert [channel_of(thing) for thing in taken(outgoing, 4)] == [1, 1, 1, 2]

    def test_control_goes_first(self) -> None:
        outgoing = Outgoing()
        outgoing.open(2, Way.CORRECT, ("a", "b", "t"))
        outgoing.give(2, frame())
        assert channel_of(taken(outgoing, 1)[0]) == 2
        outgoing.tell(1, encode(Grant(1)))
        outgoing.say(Taken(7, 1).to_bytes())
        assert [channel_of(thing) for thing in taken(outgoing, 3)] == [1, 7, 2]


class TestWindows:
    def test_no_more_than_a_window_is_under_way(self) -> None:
        one = frame().size
        outgoing = Outgoing(window=one + 1)
        outgoing.open(1, Way.CORRECT)
        for number in range(4):
            outgoing.give(1, frame(number=number))
        assert shares(outgoing, 1000)[1] == pytest.approx(2 * one, rel=0.01)
        assert outgoing.backlog() == {1: 4 * one}
        outgoing.taken(1, one)
        assert shares(outgoing, 1000)[1] == pytest.approx(one, rel=0.01)
        assert outgoing.backlog() == {1: 3 * one}

    def test_one_frame_is_under_way_however_large(self) -> None:
        outgoing = Outgoing(window=1)
        outgoing.open(1, Way.CORRECT)
        outgoing.give(1, frame())
        assert shares(outgoing, 1000)[1] > PIECE

    def test_a_slow_reader_holds_up_nobody_else(self) -> None:
        outgoing = Outgoing(window=1)
        for channel in (1, 2):
            outgoing.open(channel, Way.CORRECT)
            for number in range(3):
                outgoing.give(channel, frame(number=number))
        shares(outgoing, 1000)
        for _ in range(2):
            outgoing.taken(2, frame().size)
            assert set(shares(outgoing, 1000)) == {2}


class TestLanesOfOneStream:
    STREAM = ("a", "b", "s")

    def both(self, window: int) -> Outgoing:
        outgoing = Outgoing(window=window)
        outgoing.open(1, Way.FRESH, self.STREAM)
        outgoing.open(2, Way.CORRECT, self.STREAM)
        for number in range(3):
            outgoing.give(2, frame(number=number))
        outgoing.give(1, frame(fresh=True, number=3, rows=ROWS.slice(0, 10)))
        outgoing.give(2, frame(number=4))
        return outgoing

    def test_what_is_tentative_stays_behind_what_was_sent_before_it(self) -> None:
        order = [channel_of(thing) for thing in taken(self.both(1 << 40), 1000)]
        each = -(-frame().size // PIECE)
        assert order == [2] * 3 * each + [1] + [2] * each

    def test_but_does_not_wait_for_a_reader_that_does_not_keep_up(self) -> None:
        outgoing = self.both(frame().size)
        order = [channel_of(thing) for thing in taken(outgoing, 1000)]
        assert order == [2] * -(-frame().size // PIECE) + [1]
        for _ in range(3):
            outgoing.taken(2, frame().size)
        assert set(shares(outgoing, 1000)) == {2}

    def test_nor_for_one_that_is_gone(self) -> None:
        outgoing = self.both(1 << 40)
        outgoing.shut(2)
        assert [channel_of(thing) for thing in taken(outgoing, 1000)] == [1]


class TestLargeMessages:
    def test_others_go_on_while_one_is_written_aside(self) -> None:
        aside: list[Callable[[], None]] = []
        outgoing, large = Outgoing(aside=aside.append), pa.table({"v": pa.array(range(200_000), pa.int64())})
        for channel in (1, 2):
            outgoing.open(channel, Way.CORRECT)
        outgoing.give(1, frame(rows=large))
        outgoing.give(1, frame(rows=large))
        outgoing.give(2, frame())
        assert set(shares(outgoing, 1000)) == {2}
        (write,) = aside
        write()
        assert shares(outgoing, 13) == {1: pytest.approx(frame(rows=large).size, rel=0.01)}
        assert outgoing.take() is None and len(aside) == 2

    def test_a_channel_that_ends_meanwhile(self) -> None:
        aside: list[Callable[[], None]] = []
        outgoing = Outgoing(aside=aside.append)
        outgoing.open(1, Way.CORRECT)
        outgoing.give(1, frame(rows=pa.table({"v": pa.array(range(200_000), pa.int64())})))
        assert outgoing.take() is None
        outgoing.shut(1)
        aside[0]()
        assert outgoing.take() is None and outgoing.correct_bytes == 0


class TestBounds:
    def test_the_oldest_tentative_frames_are_dropped(self) -> None:
        outgoing, incoming = Outgoing(), Incoming()
        outgoing.open(1, Way.FRESH)
        incoming.receive(pa.py_buffer(Open(1, "a", 1, "b", 1, Way.FRESH, "s").to_bytes()))
        small = ROWS.slice(0, 10)
        dropped = [outgoing.give(1, frame(fresh=True, number=n, rows=small))[0] for n in range(MOST_FRESH + 5)]
        assert dropped == [0] * MOST_FRESH + [1] * 5
        came = [incoming.receive(pa.py_buffer(thing)) for thing in taken(outgoing, 1000)]
        assert [one.read().message.bucket for one in came if isinstance(one, Unread)] == list(range(5, MOST_FRESH + 5))

    def test_and_by_their_bytes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "MOST_FRESH_BYTES", 2 * frame(fresh=True).size)
        outgoing = Outgoing()
        outgoing.open(1, Way.FRESH)
        assert [outgoing.give(1, frame(fresh=True))[0] for _ in range(4)] == [0, 0, 1, 1]

    def test_too_many_stable_rows_end_the_connection(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "MOST_CORRECT", 3 * frame().size - 1)
        outgoing = Outgoing(window=1 << 40)
        outgoing.open(1, Way.CORRECT)
        assert [outgoing.give(1, frame())[1] is None for _ in range(4)] == [True, True, True, False]
        # What was sent does not count any more.
        shares(outgoing, 1000)
        assert outgoing.correct_bytes == 0 and outgoing.give(1, frame())[1] is None
        taken(outgoing, 1)
        outgoing.shut(1)
        assert outgoing.correct_bytes == 0

    def test_a_frame_of_several_messages_may_wait_however_large(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It would never come otherwise: whoever asks for it again gets the same."""
        monkeypatch.setattr(module, "MOST_CORRECT", frame().size)
        outgoing = Outgoing(window=1 << 40)
        outgoing.open(1, Way.CORRECT)
        assert outgoing.give(1, *[frame(number=n) for n in range(4)]) == (0, None)
        assert outgoing.give(1, frame())[1] is not None
        assert shares(outgoing, 1000)[1] == pytest.approx(5 * frame().size, rel=0.01)

    def test_too_much_control_ends_the_connection(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "MOST_CONTROL", 200)
        outgoing = Outgoing()
        said = [outgoing.tell(1, encode(Grant(n))) is None for n in range(4)]
        assert said == [True, True, True, False]
        taken(outgoing, 4)
        assert outgoing.control_bytes == 0


class TestTaking:
    def test_nothing_while_it_is_held(self) -> None:
        outgoing = Outgoing()
        outgoing.say(b"x")
        outgoing.hold(True)
        assert outgoing.take() is None
        outgoing.hold(False)
        assert outgoing.take() == b"x"

    def test_a_thread_waits_until_there_is_something(self) -> None:
        outgoing, found = Outgoing(), list[bytes | None]()
        waiting = threading.Thread(target=lambda: found.append(outgoing.take(30.0)))
        waiting.start()
        outgoing.say(b"x")
        waiting.join(30)
        assert found == [b"x"]

    def test_a_thread_is_let_go_when_it_is_closed(self) -> None:
        outgoing, found = Outgoing(), list[bytes | None]()
        waiting = threading.Thread(target=lambda: found.append(outgoing.take(30.0)))
        waiting.start()
        outgoing.close()
        waiting.join(30)
        assert found == [None]

    def test_nothing_of_a_channel_comes_behind_its_end(self) -> None:
        outgoing = Outgoing()
        outgoing.open(1, Way.CORRECT)
        outgoing.give(1, frame())
        assert outgoing.take() is not None
        outgoing.shut(1)
        assert outgoing.take() is None


def test_which_way_a_message_goes() -> None:
    def ways(message: Message) -> tuple[Way, str]:
        return way_of(message), stream_of(message)

    assert ways(Grant(1)) == (Way.CONTROL, "")
    assert ways(Stable("s", 1, 2, (Content(1, 1),))) == (Way.CORRECT, "s")
    # Where to begin is said before anything tentative.
    assert ways(Stable("s", 1, 2, ())) == (Way.CONTROL, "")
    assert ways(Tentative("s", 1, 2, Content(1, 1), True, 0.0, NOTHING)) == (Way.FRESH, "s")
