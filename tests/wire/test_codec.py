"""Every message survives the wire, and nothing else comes out of it: a whole message, or a WireError."""

from __future__ import annotations

import functools
import json
import random
from typing import get_args

import pyarrow as pa
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from auroral.dpc.port import Port
from auroral.dpc.settings import Settings
from auroral.dpc.values import (
    LOST,
    Ack,
    Ask,
    Confirm,
    Content,
    Gap,
    Grant,
    Known,
    Message,
    Ping,
    Pong,
    Release,
    Stable,
    Subscribe,
    Tentative,
    Want,
)
from auroral.dpc.versions import Decision
from auroral.sim import network
from auroral.sim.campaign import run_seed
from auroral.wire import codec, limits
from auroral.wire.codec import decode, encode, encode_all, from_bytes, to_bytes
from auroral.wire.errors import WireError
from wire.messages import BY_KIND, messages, rows_of, spoilt

DEEP = pa.table({"c": pa.array([None], functools.reduce(lambda inner, _: pa.list_(inner), range(70), pa.int64()))})
ROWS = pa.table({"a": [1, 2, 3], "b": ["x", None, "z"]})


def written(*values: object, rows: bytes = b"") -> bytes:
    """A message with this header, whether or not it is one."""
    return framed(json.dumps(values).encode(), rows)


def framed(header: bytes, rows: bytes = b"") -> bytes:
    begin = len(header).to_bytes(4, "big") + header
    return begin + bytes(-len(begin) % 64) + rows


def ipc(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write(table)
    return sink.getvalue().to_pybytes()


class TestWhatIsSentComes:
    @given(messages)
    def test_every_message(self, message: Message) -> None:
        found = from_bytes(to_bytes(message))
        assert found == message
        assert [type(rows) for rows in rows_of(found)] == [type(rows) for rows in rows_of(message)]
        for sent, came in zip(rows_of(message), rows_of(found), strict=True):
            assert sent is None or repr(sent.to_pylist()) == repr(came.to_pylist())
            assert sent is None or sent.schema.equals(came.schema)

    def test_every_kind_is_drawn(self) -> None:
        assert BY_KIND.keys() == set(get_args(Message))

    @given(messages)
    def test_its_size_is_known_before_it_is_written(self, message: Message) -> None:
        encoded = encode(message)
        assert encoded.size == encoded.body().size

    def test_rows_lie_where_the_message_came(self) -> None:
        body = encode(Stable("s", 1, 2, (Content(1, 3, ROWS),))).body()
        (content,) = decode(body).contents
        column = content.rows.column("a").chunk(0).buffers()[1]
        assert body.address <= column.address < body.address + body.size

    def test_rows_of_a_misaligned_message_are_moved_to_where_arrow_wants_them(self) -> None:
        body = to_bytes(Stable("s", 1, 2, (Content(1, 3, ROWS),)))
        found = decode(pa.py_buffer(b"1" + body).slice(1))
        (content,) = found.contents
        assert content.rows.equals(ROWS)
        assert content.rows.column("a").chunk(0).buffers()[1].address % 64 == 0

    def test_metadata_of_the_schema_and_chunks_stay(self) -> None:
        table = pa.concat_tables([ROWS, ROWS]).replace_schema_metadata({"unit": "m"})
        (content,) = from_bytes(to_bytes(Stable("s", 1, 2, (Content(1, 6, table),)))).contents
        assert content.rows.schema.metadata == {b"unit": b"m"} and content.rows.equals(table)

    def test_nothing_of_the_memory_before_is_sent(self) -> None:
        message = Stable("s", 1, 2, (Content(1, 3, ROWS), Content(2, 3, ROWS)))
        for _ in range(20):
            junk = pa.py_buffer(bytearray(b"\xff" * 4096))
            del junk
            assert to_bytes(message) == to_bytes(message)

    @pytest.mark.slow
    def test_all_that_the_protocol_says_in_simulated_failures(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Ranges of numbers are those that cores really use. Rows of the simulator are no Arrow rows, and stay behind."""
        sent: set[type] = set()
        plain = network.Network.send

        def through_bytes(self: network.Network, sender: str, to: str, message: Message) -> None:
            sent.add(type(message))
            found = from_bytes(to_bytes(message))
            assert found == message
            plain(self, sender, to, message)

        monkeypatch.setattr(network.Network, "send", through_bytes)
        monkeypatch.setattr(codec, "_announce", lambda content, _: (content.hash, content.count, None, False))
        assert not run_seed(2).violations
        assert sent >= {Ping, Pong, Stable, Tentative, Subscribe}


class TestWhatIsRefusedWhenItIsSent:
    @pytest.mark.parametrize(
        ("message", "complaint"),
        [
            (Stable("s", 1, 2, (Content(1, 3, [1, 2, 3]),)), "rows are a list"),
            (Stable("s", 1, 2, (Content(1, 4, ROWS),)), "3 rows are said to be 4"),
            (Stable("s", 1, 2, (Content(1, 1 << 31, pa.table({"n": pa.nulls(1 << 31)})),)), "too many rows"),
            (Ask(1, float("nan")), "cannot be written"),
            (Ask(1, float("inf")), "cannot be written"),
            (Want("s", object(), 1), "cannot be written"),  # type: ignore[arg-type]
            (Grant(10**5000), "cannot be written"),
            (Want("s" * limits.MOST_HEADER, 1, 1), "is too large"),
            (Ping({}, {"a\tb": 1}), "is not valid"),
            (Stable("s", 1, 2, (Content(1, 1),), (-995.0,)), "-995.0 is not valid"),
            (Stable("s", 1, 2, (Content(1, 1), Content(1, 1)), (1.0,)), "1 ages of 2 buckets"),
            (Stable("s", 1, 2, (LOST,)), "-1 is not valid"),
            (Known(Decision((0, 26, 26), 1)), "each version behind the one before"),
            (Confirm("s", 1, 2, (0,) * (limits.MOST_ENTRIES + 1)), "entries are too many"),
            (Gap("s", 1, 5, 4), "a gap from 5 to 4"),
            (Ping({"s": 7}, {}), "cannot be written"),  # type: ignore[dict-item]
            ("hello", "a str is no message"),
            (Stable("s", 1, 2, (Content(1, 1, pa.table({"c": pa.array(["x"], pa.string_view())})),)), "string_view"),
            (Stable("s", 1, 2, (Content(1, 1, DEEP),)), "at most 32 deep"),
        ],
    )
    def test_what_can_never_come(self, message: Message, complaint: str) -> None:
        with pytest.raises(WireError, match=complaint):
            encode(message)

    @given(spoilt())
    def test_what_is_sent_can_be_read(self, message: Message) -> None:
        try:
            encoded = encode(message)
        except WireError:
            return
        assert type(decode(encoded.body())) is type(message)

    def test_much_of_what_is_spoilt_is_refused_and_some_is_not(self) -> None:
        """The test above would not fail if nothing came that far."""
        many = settings(max_examples=1000, database=None)
        assert find(spoilt(), _is_sent, settings=many) is not None
        assert find(spoilt(), lambda message: not _is_sent(message), settings=many) is not None

    def test_too_many_rows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(codec, "MOST_PAYLOAD", 100)
        with pytest.raises(WireError, match="are too large"):
            encode(Stable("s", 1, 2, (Content(1, 3, ROWS),)))


def _is_sent(message: Message) -> bool:
    try:
        encode(message)
    except WireError:
        return False
    return True


class TestManyBucketsOfManyRows:
    """Those that fit in no message go in several, which mean the same."""

    CONTENTS = tuple(Content(number, 3, ROWS) for number in range(7))

    def parts(self, message: Message) -> list[Message]:
        return [decode(one.body()) for one in encode_all(message)]

    def test_by_their_bytes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(codec, "ROWS_AT_ONCE", 3 * 448)
        found = self.parts(Stable("s", 1, 10, self.CONTENTS, tuple(map(float, range(7)))))
        assert found == [
            Stable("s", 1, 10, self.CONTENTS[:3], (0.0, 1.0, 2.0)),
            Stable("s", 1, 13, self.CONTENTS[3:6], (3.0, 4.0, 5.0)),
            Stable("s", 1, 16, self.CONTENTS[6:], (6.0,)),
        ]

    def test_by_their_number(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(codec, "BUCKETS_AT_ONCE", 4)
        given = tuple(Content(number, number) for number in range(9))
        found = self.parts(Stable("s", 1, 10, given))
        assert [(part.begin, len(part.contents), part.held) for part in found] == [
            (10, 4, ()),
            (14, 4, ()),
            (18, 1, ()),
        ]

    def test_by_their_columns(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(codec, "ARRAYS_AT_ONCE", 3 * 4)
        assert [len(part.contents) for part in self.parts(Stable("s", 1, 10, self.CONTENTS))] == [3, 3, 1]

    def test_one_that_is_larger_goes_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(codec, "ROWS_AT_ONCE", 100)
        assert [len(part.contents) for part in self.parts(Stable("s", 1, 10, self.CONTENTS))] == [1] * 7

    def test_all_others_go_whole(self) -> None:
        for message in (Grant(1), Stable("s", 1, 2, ()), Stable("s", 1, 10, self.CONTENTS)):
            assert self.parts(message) == [message]

    def test_none_is_sent_if_one_is_wrong(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(codec, "ROWS_AT_ONCE", 100)
        with pytest.raises(WireError, match="3 rows are said to be 4"):
            encode_all(Stable("s", 1, 10, (*self.CONTENTS, Content(1, 4, ROWS))))
        with pytest.raises(WireError, match="9 ages of 7 buckets"):
            encode_all(Stable("s", 1, 10, self.CONTENTS, (0.0,) * 9))

    @pytest.mark.parametrize("resuming", [False, True])
    def test_they_mean_the_same_to_their_reader(self, resuming: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(codec, "ROWS_AT_ONCE", 3 * 448)
        whole = Stable("s", 1, 10, self.CONTENTS, (0.5,) * 7)
        ports = []
        for said in ([whole], self.parts(whole)):
            port = Port("s", ("p",), Settings(0.5, 3.0), resuming=resuming, frontier=0 if resuming else 8)
            port.stable = {} if resuming else {12: self.CONTENTS[2]}
            reports = [report for message in said for report in port.take_stable(message, 100.0)]
            ports.append((port, reports))
        assert ports[0] == ports[1] and ports[0][0].furthest == 17


CONTENT = [1, 3, 448, False]


class TestWhatIsRefusedWhenItComes:
    @pytest.mark.parametrize(
        ("data", "complaint"),
        [
            (b"", "0 bytes are no message"),
            (b"\0\0\0", "3 bytes are no message"),
            (b"\0\0\0\x10[", "end before a header"),
            (b"\xff\xff\xff\xff" + bytes(100), "header of 4294967295 bytes is too large"),
            (framed(b"["), "cannot be read"),
            (framed(b"\xff\xfe"), "cannot be read"),
            (framed(b"[" * 100_000), "cannot be read"),
            (framed(b'["ask",1,NaN]'), "NaN is no number"),
            (framed(b'["ask",1,1e999]'), "inf is not valid"),
            (framed(b'["grant",' + b"9" * 5000 + b"]"), "cannot be read"),
            (framed(b'["grant",1]x'), "cannot be read"),
            (written(), "is no kind"),
            (written(["grant"], 1), "is no kind"),
            (framed(b'{"grant":1}'), "is no kind"),
            (framed(b"7"), "is no kind"),
            (written("bestow", 1), "'bestow' is no kind"),
            (written("grant"), "0 fields instead of 1"),
            (written("grant", 1, 2), "2 fields instead of 1"),
            (written("release", 1), "1 fields instead of 0"),
            (written("grant", -1), "-1 is not valid"),
            (written("grant", 1.0), "1.0 is not valid"),
            (written("grant", True), "True is not valid"),
            (written("grant", None), "None is not valid"),
            (written("grant", "1"), "'1' is not valid"),
            (written("grant", 1 << 63), "is not valid"),
            (written("want", "", 1, 1), "'' is not valid"),
            (written("want", "a\nb", 1, 1), "is not valid"),
            (written("want", "\ud800", 1, 1), "is not valid"),
            (written("want", "x" * 1025, 1, 1), "is not valid"),
            (written("subscribe", "s", 1, "slow", 1, True, True), "'slow' is not valid"),
            (written("subscribe", "s", 1, "both", 1, 1, True), "1 is not valid"),
            (written("ask", 1, -0.5), "-0.5 is not valid"),
            (written("ask", 1, 1e10), "is not valid"),
            (written("gap", "s", 1, 5, 4), "a gap from 5 to 4"),
            (written("confirm", "s", 1, 5, [-2]), "-2 is not valid"),
            (written("confirm", "s", 1, 5, [1 << 128]), "is not valid"),
            (written("confirm", "s", 1, 5, {"a": 1}), "is not valid"),
            (written("confirm", "s", 1, 5, [0] * (limits.MOST_ENTRIES + 1)), "entries are too many"),
            (written("pong", [["s", [True, False, 1, 1]]], []), "True is not valid"),
            (written("pong", [["s", [4, False, 1, 1]]], []), "4 is not valid"),
            (written("pong", [["s", [0, False, 1, 1]], ["s", [0, False, 1, 1]]], []), "'s' stands twice"),
            (written("decided", [[], 1]), "each version behind the one before"),
            (written("decided", [[1], 1]), "each version behind the one before"),
            (written("known", [[0, 5, 5], 1]), "each version behind the one before"),
            (written("pong", [["s"]], []), "1 fields instead of 2"),
            (written("ping", [["s", [1, 1, 1]]], [], [], 0), "3 fields instead of 2"),
            (written("stable", "s", 1, 1, [[-1, 0, None, False]], []), "-1 is not valid"),
            (written("stable", "s", 1, 1, [[1, 1 << 40, None, False]], []), "is not valid"),
            (written("stable", "s", 1, 1, [[1, 1, None, False]], [1.0, 2.0]), "2 ages of 1 buckets"),
            (written("tentative", "s", 1, 1, [1, 0, None, False], True, 0, [["s", [[3, 3, 0]]]]), "is not valid"),
            (written("tentative", "s", 1, 1, [1, 0, None, False], True, 0, [["s", [[3, 5, 0], [4, 6, 1]]]]), "order"),
            (written("rewire", 1, [[], []]), "2 fields instead of 3"),
            (written("stable", "s", 1, 1, [CONTENT], []), "0 bytes of rows end before 448"),
            (written("stable", "s", 1, 1, [CONTENT], [], rows=ipc(ROWS)[:-1]), "end before"),
            (written("stable", "s", 1, 1, [CONTENT], [], rows=ipc(ROWS) + b"\0"), "449 bytes of rows instead of 448"),
            (written("stable", "s", 1, 1, [[1, 2, 448, False]], [], rows=ipc(ROWS)), "3 rows came where 2"),
            (written("stable", "s", 1, 1, [[1, 3, 64, False]], [], rows=bytes(64)), "0 rows came|no Arrow stream"),
            (written("stable", "s", 1, 1, [[1, 3, 64, True]], [], rows=b"junk" * 16), "no Arrow stream"),
            (written("grant", 1) + bytes(64), "64 bytes of rows instead of 0"),
            (written("grant", 1)[:-1] + b"x", "something stands between"),
        ],
    )
    def test_what_is_no_message(self, data: bytes, complaint: str) -> None:
        with pytest.raises(WireError, match=complaint):
            from_bytes(data)

    def test_the_example_of_rows_is_right_otherwise(self) -> None:
        assert len(ipc(ROWS)) == CONTENT[2]
        found = from_bytes(written("stable", "s", 1, 1, [CONTENT], [], rows=ipc(ROWS)))
        assert found == Stable("s", 1, 1, (Content(1, 3),))

    def test_an_error_says_what_where_and_what_is_allowed(self) -> None:
        with pytest.raises(WireError) as caught:
            from_bytes(written("ping", [["s", [1, -1]]], [], [], 0))
        assert "-1 is not valid here" in str(caught.value)
        assert "ping, acks of s" in str(caught.value)
        assert "allowed: seconds from 0" in str(caught.value)

    def test_rows_that_point_out_of_their_buffer(self) -> None:
        """Offsets of texts that lead elsewhere: followed, they would end the process."""
        table = pa.table({"b": pa.array(["long enough to be seen", "too"])})
        whole = bytearray(to_bytes(Stable("s", 1, 2, (Content(1, 2, table),))))
        offsets = b"\0\0\0\0\x16\0\0\0\x19\0\0\0"
        at = whole.index(offsets)
        whole[at + 8 : at + 12] = (1 << 30).to_bytes(4, "little")
        with pytest.raises(WireError, match="no Arrow stream"):
            from_bytes(bytes(whole))

    def test_no_bucket_can_claim_more_rows_than_are_allowed(self) -> None:
        """Columns without values could, at no cost."""
        with pytest.raises(WireError, match="at most 2147483647 rows"):
            from_bytes(written("stable", "s", 1, 1, [[1, 1 << 31, 1000, False]], []))

    @given(messages, st.randoms(use_true_random=False))
    def test_whatever_is_done_to_the_bytes(self, message: Message, chance: random.Random) -> None:
        whole = bytearray(to_bytes(message))
        for _ in range(chance.randint(1, 4)):
            match chance.choice(("change", "cut", "add", "swap")):
                case "change" if whole:
                    whole[chance.randrange(len(whole))] = chance.randrange(256)
                case "cut":
                    del whole[chance.randint(0, len(whole)) :]
                case "add":
                    whole.insert(chance.randint(0, len(whole)), chance.randrange(256))
                case "swap" if len(whole) > 8:
                    at, to = chance.randrange(len(whole) - 4), chance.randrange(len(whole) - 4)
                    whole[at : at + 4], whole[to : to + 4] = whole[to : to + 4], whole[at : at + 4]
        only_whole_or_refused(bytes(whole))

    @given(st.binary(max_size=300))
    def test_random_bytes(self, data: bytes) -> None:
        only_whole_or_refused(data)
        only_whole_or_refused(framed(data))


def only_whole_or_refused(data: bytes) -> None:
    try:
        found = from_bytes(data)
    except WireError:
        return
    # What was read is a message, and can be sent again.
    assert type(found) in BY_KIND
    assert from_bytes(to_bytes(found)) == found


def test_what_a_heartbeat_takes() -> None:
    acks = {f"stream{number}": Ack(number, 0.5) for number in range(10)}
    assert encode(Ping(acks, dict.fromkeys(acks, 1))).size < 1024
    assert encode(Release()).size == 64
    assert encode(Gap("s", 1, 2, 3)).size == 64
