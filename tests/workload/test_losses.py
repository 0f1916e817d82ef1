"""Messages that are lost, late or doubled, and crashes in the middle: one owner of each task, and no money made or lost."""

from __future__ import annotations

from fractions import Fraction

from auroral.workload.contracts import Clauses
from auroral.workload.events import Received, Send, Signed, Started, Submitted, Withdrawn, Woken, Write
from auroral.workload.messages import (
    Accept,
    Closed,
    Extend,
    Item,
    Offer,
    Over,
    Prolong,
    Release,
    Settle,
    Taken,
    Transfer,
)
from auroral.workload.participant import Participant
from auroral.workload.records import Added, Agreed, Borrowed, GaveBack, Lent
from workload.markets import contract, settings, tasks, unit

TERMS = contract("a", "b", 100, duration=20)


def participant(name, load, terms=TERMS):
    core = Participant(name, settings())
    core.handle(Started((*map(Added, tasks(name, load)), Agreed(terms))), 0.0)
    return core


def said(effects, kind=object):
    return [one.message for one in effects if isinstance(one, Send) and isinstance(one.message, kind)]


def records(effects):
    return [one.record for one in effects if isinstance(one, Write)]


def lending(at=1.0):
    """A buyer whose offer was accepted."""
    core = participant("a", 103)
    (offer,) = said(core.handle(Woken(), at), Offer)
    effects = core.handle(Received("b", Accept(offer.number, ("a0", "a1"), 100, 0.5)), at + 0.1)
    return core, said(effects, Transfer)[0]


def taking(terms=TERMS, at=1.0):
    """A seller that was sent what it accepted."""
    core = participant("b", 10, terms)
    effects = core.handle(Received("a", Offer(1, (Item("q0", unit()), Item("q1", unit())), 100)), at)
    (accept,) = said(effects, Accept)
    transfer = Transfer(1, ("q0", "q1"), 100, Fraction(4000), 20, accept.at)
    return core, transfer, core.handle(Received("a", transfer), at + 0.2)


def test_a_transfer_is_said_until_it_is_answered():
    core, transfer = lending()
    assert said(core.handle(Woken(), 2.2), Transfer) == [transfer]
    core.handle(Received("b", Taken(1)), 2.3)
    assert not said(core.handle(Woken(), 3.5), Transfer)
    assert len(core.books.held) == 101 and core.books.balance == -4000


def test_a_transfer_that_comes_twice_is_taken_once_and_answered_twice():
    core, transfer, effects = taking()
    kinds = [
        type(one.record if isinstance(one, Write) else one.message) for one in effects if isinstance(one, Write | Send)
    ]
    assert kinds == [Borrowed, Taken], "on disk before it is said"
    again = core.handle(Received("a", transfer), 1.5)
    assert said(again) == [Taken(1)] and not records(again)
    assert core.books.balance == 4000 and len(core.books.held) == 12


def test_a_transfer_that_comes_too_late_is_never_taken_and_comes_to_nothing():
    core = participant("b", 10)
    (accept,) = said(core.handle(Received("a", Offer(1, (Item("q", unit()),), 100)), 1.0), Accept)
    late = Transfer(1, ("q",), 100, Fraction(2000), 20, accept.at)
    assert said(core.handle(Received("a", late), 4.0), Over) == [Over(1, Fraction(0))], "the room was kept for 2 s"
    assert not said(core.handle(Received("a", Offer(1, (Item("q", unit()),), 100)), 4.1)), (
        "an offer that comes again late is none"
    )
    core.handle(Received("a", Closed(1)), 4.2)
    assert said(core.handle(Received("a", late), 4.3), Over) == [Over(1, Fraction(0))]
    assert core.books.balance == 0 and len(core.books.held) == 10


def test_a_transfer_must_be_what_was_accepted():
    for wrong in (
        {"payment": Fraction(3999)},
        {"price": 99},
        {"names": ("q0", "q7")},
        {"seconds": 21},
        {"at": 0.9},
        {"names": ()},
    ):
        core = participant("b", 10)
        core.handle(Received("a", Offer(1, (Item("q0", unit()), Item("q1", unit())), 100)), 1.0)
        right = {"names": ("q0", "q1"), "price": 100, "payment": Fraction(4000), "seconds": 20, "at": 1.0}
        effects = core.handle(Received("a", Transfer(1, **{**right, **wrong})), 1.1)
        assert said(effects, Over) and not core.books.borrowed, wrong


def test_who_never_took_the_tasks_gives_them_and_the_money_back():
    core, _ = lending()
    effects = core.handle(Received("b", Over(1, Fraction(0))), 1.5)
    assert said(effects, Closed) == [Closed(1)] and len(core.books.held) == 103 and core.books.balance == 0
    assert said(core.handle(Received("b", Over(1, Fraction(0))), 1.6)) == [Closed(1)], "answered each time"


def test_a_partner_that_is_silent_has_the_tasks_until_its_time_is_over():
    """And the buyer settles when it hears of it again."""
    core, _ = lending()
    core.handle(Woken(), 21.0)
    assert len(core.books.held) == 101
    effects = core.handle(Woken(), 21.1)
    assert len(core.books.held) == 103 and Settle(1) in said(effects)
    assert Settle(1) in said(core.handle(Woken(), 22.1))
    core.handle(Received("b", Over(1, Fraction(4000))), 30.0)
    assert core.books.balance == -4000 and not core.books.lent


def test_the_seller_stops_before_the_buyer_begins():
    """Its time counts from its answer, the buyer's from its decision, which came later."""
    core, transfer, _ = taking()
    assert core.books.borrowed["a", 1].until == transfer.at + 20
    effects = core.handle(Woken(), 21.0)
    assert said(effects, Over) == [Over(1, Fraction(4000))] and len(core.books.held) == 10
    assert Over(1, Fraction(4000)) in said(core.handle(Woken(), 22.0)), "until it is answered"
    core.handle(Received("a", Closed(1)), 22.1)
    assert not said(core.handle(Woken(), 24.0), Over)


def test_one_more_term_is_paid_once_however_often_it_is_asked_for():
    core, _ = lending()
    core.handle(Received("b", Taken(1)), 1.3)
    first = said(core.handle(Received("b", Extend(1, 2)), 17.0), Prolong)
    assert first == said(core.handle(Received("b", Extend(1, 2)), 18.0), Prolong) == [Prolong(1, 2, Fraction(4000), 20)]
    assert core.books.balance == -8000 and core.books.lent["b", 1].until == 41.1
    seller, _, _ = taking()
    assert said(seller.handle(Woken(), 16.5), Extend) == [Extend(1, 2)]
    for _ in range(2):
        seller.handle(Received("a", first[0]), 17.0)
    assert seller.books.balance == 8000 and seller.books.borrowed["a", 1].until == 41.0


def test_a_term_that_the_seller_never_heard_of_is_not_paid():
    core, _ = lending()
    core.handle(Received("b", Extend(1, 2)), 17.0)
    core.handle(Received("b", Over(1, Fraction(4000))), 21.0)
    assert core.books.balance == -4000


def test_a_seller_that_crashed_gives_back_what_it_ran_with_the_rest_of_the_money_and_the_penalty():
    """L11: by whatever clock it comes back."""
    terms = contract("a", "b", 100, duration=20, clauses=Clauses(penalty=50))
    _, _, effects = taking(terms)
    kept = (*map(Added, tasks("b", 10)), Agreed(terms), *records(effects))
    born = Participant("b", settings())
    effects = born.handle(Started(kept), 11.0)
    assert said(effects, Over) == [Over(1, Fraction(2000 - 50))] and len(born.books.held) == 10
    back = Participant("b", settings())
    assert said(back.handle(Started(kept), -500.0), Over) == [Over(1, Fraction(-50))], "a clock that was set back"


def test_a_buyer_that_crashed_waits_a_whole_term():
    core, _ = lending()
    lent = next(iter(core.books.lent.values())).transfer
    kept = (*map(Added, tasks("a", 103)), Agreed(TERMS), lent)
    born = Participant("a", settings())
    assert said(born.handle(Started(kept), 400.0), Transfer), "said again: nobody knows whether it came"
    assert len(born.books.held) == 101 and born.books.balance == -4000
    born.handle(Woken(), 419.0)
    assert len(born.books.held) == 101
    born.handle(Woken(), 420.0)
    assert len(born.books.held) == 103


def test_numbers_are_not_used_again_after_a_crash():
    core = participant("a", 103)
    effects = core.handle(Woken(), 1.0)
    born = Participant("a", settings())
    born.handle(Started((*map(Added, tasks("a", 103)), Agreed(TERMS), *records(effects))), 2.0)
    assert [one.number for one in said(born.handle(Woken(), 3.0), Offer)] == [2]


def test_an_answer_that_nobody_waits_for_releases_the_room():
    core = participant("a", 103)
    core.handle(Woken(), 1.0)
    effects = core.handle(Woken(), 2.0)
    assert Release(1) in said(effects), "silence is a refusal"
    assert said(core.handle(Received("b", Accept(1, ("a0",), 100, 1.9)), 2.1)) == [Release(1)]
    assert not core.books.lent


def test_a_borrowed_task_that_was_lent_on_goes_back_when_it_is_home_again():
    """A crash in the middle of a chain: the one behind it may still run it."""
    onward = contract("b", "c", 90, duration=20)
    core, _, effects = taking()
    lent = Lent("c", 1, core.books.borrowed["a", 1].tasks[:1], ("#0",), 90, Fraction(900), 10, 3.0, 3.1)
    kept = (*map(Added, tasks("b", 10)), Agreed(TERMS), Agreed(onward), *records(effects), lent)
    born = Participant("b", settings())
    effects = born.handle(Started(kept), 5.0)
    assert not said(effects, Over) and len(born.books.held) == 10, "not run here, and not given back yet"
    effects = born.handle(Received("c", Over(1, Fraction(900))), 6.0)
    assert [one for one in said(effects, Over) if one.number == 1] and len(born.books.held) == 10
    assert any(isinstance(one, GaveBack) for one in records(effects))


def test_a_term_is_prolonged_only_as_it_was_asked_for_and_for_its_price():
    for wrong in ({"payment": Fraction(0)}, {"seconds": 40, "payment": Fraction(8000)}, {"term": 3}):
        seller, _, _ = taking()
        assert said(seller.handle(Woken(), 16.5), Extend) == [Extend(1, 2)]
        right = {"term": 2, "payment": Fraction(4000), "seconds": 20}
        seller.handle(Received("a", Prolong(1, **{**right, **wrong})), 17.0)
        assert seller.books.borrowed["a", 1].until == 21.0, wrong
    early, _, _ = taking()
    early.handle(Received("a", Prolong(1, 2, Fraction(4000), 20)), 3.0)
    assert early.books.borrowed["a", 1].until == 21.0, "nobody asked for it"


def test_what_changed_terms_do_not_allow_is_not_prolonged():
    """L13: at a price outside the new range, or a task that may not move any more."""
    for changed in (
        contract("a", "b", 90, duration=20),
        contract("a", "b", 100, duration=20, clauses=Clauses(("z*",))),
    ):
        buyer, _ = lending()
        buyer.handle(Signed(changed), 10.0)
        assert not said(buyer.handle(Received("b", Extend(1, 2)), 17.0), Prolong)
        assert buyer.books.balance == -4000
    seller, _, _ = taking()
    seller.handle(Signed(contract("a", "b", 90, duration=20)), 10.0)
    assert not said(seller.handle(Woken(), 16.5), Extend)


def test_a_task_that_is_wanted_again_while_a_partner_runs_it_runs_once():
    core, _ = lending()
    core.handle(Withdrawn("a0"), 3.0)
    core.handle(Submitted(tasks("a", 1)[0]), 4.0)
    assert len(core.books.held) == 101 and core.books.load == unit(101)
    core.handle(Received("b", Over(1, Fraction(4000))), 21.0)
    assert len(core.books.held) == 103 and core.books.load == unit(103)
    core.handle(Submitted(tasks("a", 1)[0]), 22.0)
    assert core.books.load == unit(103), "the same again is the same"
