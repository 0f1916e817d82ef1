"""What readers of an output are sent (SOutput: D32, D34, D36, D53-D56, D64, D69)."""

from __future__ import annotations

from collections.abc import Iterable

from auroral.dpc.coverage import NOTHING
from auroral.dpc.events import Effect, Report, Send, Truncate
from auroral.dpc.outlet import Outlet
from auroral.dpc.settings import Settings
from auroral.dpc.switching import Lane
from auroral.dpc.values import Ack, Confirm, Content, Message, Stable, Subscribe, Tentative, Unsubscribe, Want

SETTINGS = Settings(bucket=0.5, bound=3.0)


def rows(*hashes: int) -> tuple[Content, ...]:
    return tuple(Content(hash, 1) for hash in hashes)


def outlet(*hashes: int) -> Outlet:
    found = Outlet("s", ("a", "b"), SETTINGS)
    list(found.give_stable(rows(*hashes), 0.0))
    return found


def sent(effects: Iterable[Effect]) -> list[tuple[str, Message]]:
    return [(effect.to, effect.message) for effect in effects if isinstance(effect, Send)]


def subscribed(
    found: Outlet, reader: str, position: int | None, lane: Lane = Lane.BOTH, number: int = 1
) -> list[Message]:
    return [message for _, message in sent(found.subscribe(reader, Subscribe("s", number, lane, position, True), 0.0))]


def test_a_reader_gets_all_from_its_position_on():
    found = outlet(10, 11, 12)
    assert subscribed(found, "a", 1) == [Stable("s", 1, 1, rows(11, 12))]
    assert sent(found.give_stable(rows(13), 0.0)) == [("a", Stable("s", 1, 3, rows(13)))]
    found.unsubscribe("a", Unsubscribe("s", 99))
    assert sent(found.give_stable(rows(14), 0.0)), "another subscription's end is not its own"
    found.unsubscribe("a", Unsubscribe("s", 1))
    assert not sent(found.give_stable(rows(15), 0.0))


def test_who_is_ahead_waits():
    """D34."""
    found = outlet(10)
    assert subscribed(found, "a", 3) == []
    assert not sent(found.give_stable(rows(11, 12), 0.0))
    assert sent(found.give_stable(rows(13), 0.0)) == [("a", Stable("s", 1, 3, rows(13)))]


def test_the_fresh_lane_has_nothing_of_before():
    """D36."""
    found = outlet(10, 11)
    assert subscribed(found, "a", 0, Lane.FRESH) == []
    assert sent(found.give_tentative(2, *rows(20), NOTHING, 0.0)) == [
        ("a", Tentative("s", 1, 2, *rows(20), True, 0.0, NOTHING))
    ]
    assert not sent(found.give_stable(rows(12), 0.0)), "it is not new any more"
    assert sent(found.give_stable(rows(13), 0.0)) == [("a", Stable("s", 1, 3, rows(13)))]


def test_who_comes_from_another_replica_gets_what_is_tentative():
    """D77: or it would wait for what is newer. What is older than the bound is of no use; what it holds is not sent again."""
    found = outlet(10)
    for bucket, at in ((1, 0.0), (2, 2.0), (3, 2.5)):
        list(found.give_tentative(bucket, *rows(20 + bucket), NOTHING, at, held=1.0))

    def came(reader: str, position: int, lane: Lane, number: int = 1) -> list[Message]:
        return [said for _, said in sent(found.subscribe(reader, Subscribe("s", number, lane, position, True), 3.0))]

    two = Tentative("s", 1, 2, *rows(22), True, 2.0, NOTHING)
    three = Tentative("s", 1, 3, *rows(23), True, 1.5, NOTHING)
    assert came("a", 1, Lane.FRESH) == [two, three]
    assert came("b", 3, Lane.BOTH) == [three], "it has bucket 2 stable"
    assert came("a", 1, Lane.BOTH, number=2) == []
    assert came("c", 1, Lane.CORRECT) == []
    list(found.give_stable(rows(11, 12), 3.0))
    assert came("d", 1, Lane.BOTH)[-1] == three
    assert list(found.guesses) == [3]


def test_three_readers_at_different_points_get_different_corrections():
    """D54, D64: each what it lacks, and a confirmation where it holds the right rows already."""
    found = Outlet("s", ("a", "b", "c"), SETTINGS)
    subscribed(found, "a", 0)
    list(found.give_tentative(0, *rows(20), NOTHING, -3.0))
    subscribed(found, "b", 0)
    list(found.give_tentative(1, *rows(21), NOTHING, 0.0))
    subscribed(found, "c", 0, Lane.CORRECT)
    assert sent(found.give_stable(rows(20, 21, 22), 0.0)) == [
        ("a", Confirm("s", 1, 0, (20, 21))),
        ("a", Stable("s", 1, 2, rows(22))),
        ("b", Stable("s", 1, 0, rows(20))),
        ("b", Confirm("s", 1, 1, (21,))),
        ("b", Stable("s", 1, 2, rows(22))),
        ("c", Stable("s", 1, 0, rows(20, 21, 22))),
    ]


def test_who_holds_another_version_is_sent_the_rows():
    found = Outlet("s", ("a",), SETTINGS)
    subscribed(found, "a", 0)
    list(found.give_tentative(0, *rows(20), NOTHING, 0.0))
    assert sent(found.give_stable(rows(20, 21), 0.0)) == [
        ("a", Confirm("s", 1, 0, (20,))),
        ("a", Stable("s", 1, 1, rows(21))),
    ]
    assert sent(found.want("a", Want("s", 1, 0), 0.0)) == [("a", Stable("s", 1, 0, rows(20, 21)))]
    assert not sent(found.want("a", Want("s", 7, 0), 0.0)), "of another subscription"


def test_a_lane_that_changes_keeps_what_is_known_of_the_reader():
    found = Outlet("s", ("a",), SETTINGS)
    subscribed(found, "a", 0, Lane.FRESH)
    list(found.give_tentative(0, *rows(20), NOTHING, 0.0))
    list(found.give_stable(rows(20), 0.0))
    assert subscribed(found, "a", 0, Lane.BOTH, number=2) == [Confirm("s", 2, 0, (20,))]
    found.disconnected("a")
    assert subscribed(found, "a", 0, Lane.BOTH, number=3) == [Stable("s", 3, 0, rows(20))], "nothing is known of it"


def test_nothing_is_forgotten_that_a_replica_of_a_reader_needs():
    """D69: also if it does not read from here."""
    found = outlet(*range(10))
    found.acknowledged("a", Ack(8, 0.0))
    assert found.lowest_need == 0, "b was not heard of"
    found.acknowledged("b", Ack(4, 0.0))
    assert found.lowest_need == 4
    found.acknowledged("b", Ack(3, 0.0))
    assert found.lowest_need == 4, "a need never goes back"
    assert list(found.forget()) == [Truncate("s", 4)] and not list(found.forget())
    assert sorted(found.kept) == list(range(4, 10))
    assert list(found.subscribe("a", Subscribe("s", 1, Lane.BOTH, 3, False), 0.0)) == [
        Report("asked for what is not kept", "s")
    ]


def test_who_lost_everything_begins_with_what_it_needs():
    found = outlet(*range(10))
    found.acknowledged("a", Ack(5, 0.0))
    assert subscribed(found, "a", None) == [Stable("s", 1, 5, ()), Stable("s", 1, 5, rows(*range(5, 10)))]
    assert subscribed(found, "b", None) == [Stable("s", 1, 0, ()), Stable("s", 1, 0, rows(*range(10)))]


def test_what_is_sent_again_is_as_old_as_it_is():
    """DESIGN's bound: what it took to switch, or to come back, counts; but not more than leaves time for other inputs."""
    found = Outlet("s", ("a",), SETTINGS)
    list(found.give_stable(rows(10), 5.0, [0.25]))
    list(found.give_stable(rows(11), 5.5))
    for number, (now, ages) in enumerate({6.0: (1.25, 0.5), 8.0: (2.0, 2.0)}.items(), 1):
        effects = list(found.subscribe("a", Subscribe("s", number, Lane.BOTH, 0, False), now))
        assert [message.held for _, message in sent(effects) if isinstance(message, Stable)] == [ages]
