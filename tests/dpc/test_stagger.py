"""Replicas take turns at correcting (D57), also where messages are lost, partners die and three ask in a circle (hole 3)."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from auroral.dpc.events import Send
from auroral.dpc.stagger import Stagger
from auroral.dpc.values import Ask, Grant, Refuse, Release


def three() -> dict[str, Stagger]:
    names = ("a", "b", "c")
    return {name: Stagger(name, tuple(other for other in names if other != name)) for name in names}


def only(effects: Iterable[Send]) -> Send:
    (found,) = effects
    return found


def test_a_turn_is_granted_for_a_lease_and_given_back():
    a, b = Stagger("a", ("b",)), Stagger("b", ("a",))
    assert only(a.want(0.0, ["b"])) == Send("b", Ask(1, 5.0))
    assert not a.may_correct(0.0, ["b"])
    assert only(b.ask("a", Ask(1, 5.0), False, 0.1)) == Send("a", Grant(1))
    assert not list(a.grant("b", Grant(1), 0.2))
    assert a.may_correct(4.9, ["b"]) and not a.may_correct(5.0, ["b"]), "counted from when it was asked for"
    assert list(b.want(0.3, ["a"])) == [] and not b.may_correct(0.3, ["a"]), "it promised"
    assert only(a.done()) == Send("b", Release())
    b.release("a")
    assert only(b.want(0.4, ["a"])) == Send("a", Ask(1, 5.0))


def test_who_corrects_refuses_and_of_two_that_want_the_first_by_name_goes_first():
    a, b = Stagger("a", ("b",)), Stagger("b", ("a",))
    list(a.want(0.0, ["b"]))
    list(b.want(0.0, ["a"]))
    assert only(a.ask("b", Ask(1, 5.0), False, 0.1)) == Send("b", Refuse(1))
    assert only(b.ask("a", Ask(1, 5.0), False, 0.1)) == Send("a", Grant(1))
    assert only(Stagger("z", ("a",)).ask("a", Ask(1, 5.0), True, 0.1)) == Send("a", Refuse(1))


def test_a_long_correction_renews_its_turn():
    a, b = Stagger("a", ("b",)), Stagger("b", ("a",))
    list(a.want(0.0, ["b"]))
    list(b.ask("a", Ask(1, 5.0), False, 0.0))
    list(a.grant("b", Grant(1), 0.1))
    assert list(a.want(1.0, ["b"])) == []
    assert only(a.want(3.0, ["b"])) == Send("b", Ask(2, 5.0))
    list(b.want(3.0, ["a"]))
    assert only(b.ask("a", Ask(2, 5.0), False, 3.1)) == Send("a", Grant(2)), "it goes on being promised"
    list(a.grant("b", Grant(2), 3.2))
    assert a.may_correct(7.9, ["b"])


def test_asked_in_a_circle_nobody_is_bound_for_nothing():
    """A to B, B to C, C to A: B promised A, so that C's grant to B is given back at once."""
    each = three()
    asks = {n: only(each[n].want(0.0, [to])) for n, to in (("a", "b"), ("b", "c"), ("c", "a"))}
    answers = {n: list(each[send.to].ask(n, send.message, False, 0.1)) for n, send in asks.items()}
    assert answers["a"] == [Send("a", Grant(1))] and answers["b"] == [Send("b", Grant(1))]
    assert answers["c"] == [Send("c", Refuse(1))]
    list(each["a"].grant("b", Grant(1), 0.2))
    assert only(each["b"].grant("c", Grant(1), 0.2)) == Send("c", Release())
    assert each["a"].may_correct(0.3, "bc") and not each["b"].may_correct(0.3, "ac")


def test_who_granted_a_turn_and_is_gone_is_not_asked_for_another():
    found = granted()
    assert not found.may_correct(1.0, "c")
    assert only(found.want(1.0, "c")) == Send("c", Ask(2, 5.0))
    assert not found.may_correct(1.1, "c"), "c keeps nothing up yet"
    assert not list(found.grant("c", Grant(2), 1.2))
    assert found.may_correct(1.3, "c")
    assert list(found.want(1.4, "bc")) == [], "whoever comes back"


def test_who_reaches_nobody_goes_ahead():
    lone = Stagger("a", ("b", "c"))
    assert list(lone.want(0.0, [])) == []
    assert lone.may_correct(0.0, [])
    assert not lone.may_correct(0.0, ["b"])


@pytest.mark.parametrize("crashes", [False, True], ids=["all live", "one dies"])
@pytest.mark.parametrize("seed", range(20))
def test_at_every_moment_one_keeps_answering_and_all_come_to_their_turn(seed, crashes):
    """Messages are late, lost and out of date; leases end before what there is to correct does; one that has granted a turn may die. One
    of those that live does not correct, and none waits for ever."""
    draw, each, now = random.Random(seed), three(), 0.0
    pending: list[tuple[float, str, Send]] = []
    left = dict.fromkeys(each, 8.0)
    living = set(each)
    while any(left.values()) and now < 120:
        now = round(now + 0.1, 1)
        granting = [each[name].granted[0] for name in sorted(living) if each[name].granted is not None]
        if crashes and granting and len(living) == 3:
            living.discard(dead := draw.choice(granting))
            left[dead] = 0.0
        for due, sender, send in sorted((p for p in pending if p[0] <= now), key=lambda p: p[0]):
            pending.remove((due, sender, send))
            if send.to in living:
                given = _taken(each[send.to], sender, send, left[send.to] > 0, living - {send.to}, now)
                _post(draw, pending, now, send.to, given)
        at_work = [n for n in sorted(living) if left[n] > 0 and each[n].may_correct(now, living - {n})]
        assert len(at_work) < len(living)
        for name in at_work:
            left[name] = max(0.0, round(left[name] - 0.1, 1))
        for name in sorted(living):
            sends = each[name].want(now, living - {name}) if left[name] > 0 else each[name].done()
            _post(draw, pending, now, name, sends)
    assert not any(left.values()), f"after {now} s, {left} is left"
    assert len(living) == 3 - crashes


def _taken(to: Stagger, sender: str, send: Send, wants: bool, reached: set[str], now: float) -> list[Send]:
    match send.message:
        case Ask() as message:
            return list(to.ask(sender, message, wants and to.may_correct(now, reached), now))
        case Grant() as message:
            return list(to.grant(sender, message, now))
        case Refuse() as message:
            to.refuse(sender, message)
        case _:
            to.release(sender)
    return []


def _post(
    draw: random.Random, pending: list[tuple[float, str, Send]], now: float, sender: str, sends: Iterable[Send]
) -> None:
    for send in sends:
        if draw.random() < 0.8:
            pending.append((now + draw.choice((0.1, 0.2, 0.9)), sender, send))


def granted() -> Stagger:
    """By b, asked at 0 s, until 5 s."""
    found = Stagger("a", ("b", "c"))
    list(found.want(0.0, "bc"))
    assert not list(found.grant("b", Grant(1), 0.1))
    return found


def test_another_one_is_asked_each_time_and_not_too_often():
    """Hole 8: after half a second."""
    found, asked = Stagger("a", ("b", "c")), []
    for now in (0.0, 0.49, 0.5, 0.9, 1.0, 1.5):
        asked += [(now, send) for send in found.want(now, "bc")]
    assert asked == [
        (0.0, Send("b", Ask(1, 5.0))),
        (0.5, Send("c", Ask(2, 5.0))),
        (1.0, Send("b", Ask(3, 5.0))),
        (1.5, Send("c", Ask(4, 5.0))),
    ]
    assert only(found.want(2.0, "c")) == Send("c", Ask(5, 5.0)), "who is not reached is not asked"


def test_a_turn_is_renewed_with_who_granted_it_from_half_of_it_on():
    found = granted()
    assert list(found.want(2.4, "bc")) == []
    assert only(found.want(2.5, "bc")) == Send("b", Ask(2, 5.0))
    assert found.may_correct(2.6, "bc"), "until the answer comes"
    found.refuse("c", Refuse(2))
    found.refuse("b", Refuse(1))
    assert found.may_correct(2.7, "bc"), "neither is the answer"
    found.refuse("b", Refuse(2))
    assert not found.may_correct(2.8, "bc")
    assert only(found.want(3.0, "bc")).message == Ask(3, 5.0)


def test_a_promise_ends_with_its_lease():
    found = Stagger("b", ("a", "c"))
    list(found.ask("a", Ask(1, 5.0), False, 1.0))
    assert list(found.want(5.9, "ac")) == [] and not found.may_correct(5.9, [])
    assert list(found.want(6.0, "ac")) and found.may_correct(6.0, [])
    found.release("nobody")


def test_a_promise_that_is_renewed_outlasts_even_a_wish_of_its_own():
    """D57: also where it corrects, which it does not while it promises; once the lease is over it is asked afresh."""
    found = Stagger("a", ("b",))
    list(found.ask("b", Ask(1, 5.0), False, 0.0))
    list(found.want(0.5, "b"))
    assert only(found.ask("b", Ask(2, 5.0), True, 4.0)) == Send("b", Grant(2))
    assert only(found.ask("b", Ask(3, 5.0), False, 9.0)) == Send("b", Refuse(3))


def test_a_promise_outweighs_a_grant():
    found = granted()
    found.wanted = False
    assert list(found.ask("c", Ask(7, 5.0), False, 1.0)) == [Send("b", Release()), Send("c", Grant(7))]
    assert not found.may_correct(1.1, "bc")
    found.release("c")
    assert not found.may_correct(1.2, "bc"), "what was granted is given back"


def test_a_grant_that_was_not_asked_for_or_is_not_wanted_any_more_is_given_back():
    assert only(granted().grant("b", Grant(1), 0.2)) == Send("b", Release()), "it came twice"
    for sender, number in (("c", 1), ("b", 2)):
        found = Stagger("a", ("b", "c"))
        list(found.want(0.0, "bc"))
        assert only(found.grant(sender, Grant(number), 0.1)) == Send(sender, Release())
    found = Stagger("a", ("b", "c"))
    list(found.want(0.0, "bc"))
    found.wanted = False
    assert only(found.grant("b", Grant(1), 0.1)) == Send("b", Release())
    found = granted()
    assert only(found.done()) == Send("b", Release())
    assert list(found.done()) == [] and not found.wanted and not found.may_correct(0.2, "bc")


def test_who_wants_nothing_grants_whatever_its_name():
    assert only(Stagger("a", ("b",)).ask("b", Ask(1, 5.0), False, 0.0)) == Send("b", Grant(1))


def test_all_are_asked_in_turn():
    found = Stagger("a", ("b", "c", "d"))
    assert [only(found.want(now, "bcd")).to for now in (0.0, 1.0, 2.0, 3.0)] == ["b", "c", "d", "b"]


def test_nobody_waits_for_a_peer_that_is_gone():
    found = Stagger("b", ("a", "c"))
    (asked,) = found.want(1.0, ["a", "c"])
    assert asked.to == "a" and found.asked is not None
    found.rewire(("a", "d"))
    assert found.asked is not None, "it is still there"
    found.rewire(("d",))
    assert found.asked is None and found.peers == ("d",)
    (again,) = found.want(1.1, ["d"])
    list(found.grant("d", Grant(again.message.number), 1.2))
    assert found.may_correct(1.3, ["d"])
    found.rewire(("d", "e"))
    assert found.may_correct(1.3, ["d", "e"])
    found.rewire(("e",))
    assert not found.may_correct(1.3, ["e"]), "who granted it is gone, and e keeps nothing up"
    list(found.ask("a", Ask(1, 5.0), False, 1.4))
    assert found.promised, "a comes first by name"
    found.rewire(("f",))
    assert found.promised == {}
