"""Offers, answers and movements between participants (L11-L29, L37-L43)."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

from auroral.workload.bidding import above
from auroral.workload.contracts import Clauses
from auroral.workload.costs import Costs, Queue, Step
from auroral.workload.events import Cancelled, Measured, Received, Signed, Submitted, Withdrawn, Woken
from auroral.workload.messages import Accept, Counter, Item, Offer, Reject, Release, Transfer
from auroral.workload.participant import Participant
from auroral.workload.records import Lent
from auroral.workload.settings import Settings
from auroral.workload.values import Load, Task
from auroral.workload.worth import Worth
from workload.markets import contract, cost, held, market, settings, tasks, unit


def offers(found):
    return [(sender, to, said) for sender, to, said in found.said if isinstance(said, Offer)]


def moved(found):
    return [write.record for _, write in found.written if isinstance(write.record, Lent)]


# Offering and taking at a fixed price


@pytest.mark.parametrize(("load", "offered"), [(103, 3), (101, 1), (100, 0), (20, 0)])
def test_exactly_what_is_above_the_price_is_offered(load, offered):
    """L15: strictly."""
    found = market({"a": load, "b": 0}, [contract("a", "b")])
    found.run(1.5)
    assert [len(said.items) for _, _, said in offers(found)] == [offered] * bool(offered)
    assert held(found) == [load - offered, offered]


def test_two_offers_together_never_take_more_than_there_is_room_for():
    """L16: the dearer first; two of 5 and room for 6 are 5 and 1."""
    cheap, dear = contract("a", "c", 100), contract("b", "c", 101)
    each = {"c": settings(gather=0.5)}
    found = market({"a": 105, "b": 106, "c": 94}, [cheap, dear], each)
    found.run(2.0)
    accepted = [(to, len(said.names)) for _, to, said in found.said if isinstance(said, Accept)]
    assert accepted == [("b", 5), ("a", 1)] and held(found) == [104, 101, 100]


def test_part_of_an_offer_is_taken_and_paid_for():
    """L17: offered 10, room for 4."""
    found = market({"a": 110, "b": 96}, [contract("a", "b", duration=1)])
    found.tell("a", Submitted(Task("small", unit(0), "a")))
    found.run(1.1)
    (lent,) = moved(found)
    assert len(lent.tasks) == 4 and lent.payment == 4 * 100
    a, b = (one.books for one in found.participants.values())
    assert (a.balance, b.balance) == (-400, 400), "L6: they come to nothing together"
    assert [entry.amount for entry in a.ledger] == [-400]


def test_the_buyer_pays_though_it_changed_its_mind():
    """L18: offers are binding."""
    core = Participant("a", settings())
    for task in tasks("a", 103):
        core.handle(Submitted(task), 0.0)
    core.handle(Signed(contract("a", "b")), 0.0)
    (offer,) = [one.message for one in core.handle(Woken(), 1.0) if hasattr(one, "message")]
    for n in range(10, 60):
        core.handle(Withdrawn(f"a{n}"), 1.1)
    effects = core.handle(Received("b", Accept(offer.number, ("a0", "a1"), 100, 5.0)), 1.2)
    (transfer,) = [one.message for one in effects if isinstance(getattr(one, "message", None), Transfer)]
    assert transfer.names == ("a0", "a1") and core.books.balance == -2 * 100 * 10**6


def test_every_offer_is_answered():
    """L18."""
    found = market({"a": 130, "b": 90, "c": 100, "d": 50}, [contract("a", x) for x in "bcd"])
    found.run(5.0)
    answers = [said for _, _, said in found.said if isinstance(said, Accept | Reject | Counter)]
    assert len(answers) == len(offers(found)) > 2 and held(found) == [100, 100, 100, 70]


def test_no_seller_rises_above_its_price_level():
    """L19."""
    found = market(
        {**{f"b{n}": 140 for n in range(6)}, "s": 30}, [contract(f"b{n}", "s") for n in range(6)], gather=0.2
    )
    found.run(10.0)
    assert held(found)[-1] == 100 and sum(held(found)) == 6 * 140 + 30


def test_all_contracts_are_tried_in_one_cycle_the_cheapest_first():
    """L20: two are full, the third takes it; no offer in the pause."""
    found = market(
        {"a": 103, "b": 100, "c": 101, "d": 0},
        [contract("a", "d", 100), contract("a", "b", 98), contract("a", "c", 99)],
    )
    found.run(1.0)
    assert [to for _, to, _ in offers(found)] == ["b", "c", "d"] and held(found)[0] == 100
    found.run(1.9)
    assert len(offers(found)) == 3


def test_one_hop_only_where_all_prices_are_the_same():
    """L22."""
    found = market({"a": 140, "b": 100, "c": 0}, [contract("a", "b"), contract("b", "c")])
    found.run(50.0)
    assert held(found) == [140, 100, 0]


def test_a_movement_raises_both_utilities_and_lowers_the_cost_of_all():
    """L6, L21."""
    found = market({"a": 120, "b": 40}, [contract("a", "b", duration=1)])
    before = [one.utility() for one in found.participants.values()]
    whole = cost(found)
    found.run(1.1)
    after = [one.utility() for one in found.participants.values()]
    assert all(late > early for early, late in zip(before, after, strict=True)) and cost(found) < whole


# Terms


def test_a_borrowed_task_that_may_not_go_on_stays():
    """L11."""
    for onward, expected in ((False, [99, 99, 0]), (True, [99, 90, 9])):
        contracts = [
            contract("a", "b", 99, clauses=Clauses(onward=onward)),
            contract("b", "c", 90, clauses=Clauses(("b/*", "a/*"))),
        ]
        found = market({"a": 108, "b": 90, "c": 0}, contracts)
        found.run(20.0)
        assert held(found) == expected


def test_forbidden_tasks_are_never_offered():
    """L11."""
    clauses = Clauses(("a1*",), provides=frozenset({"eu"}))
    own = [*tasks("a", 30), Task("a1secret", unit(90), "a", frozenset({"us"}))]
    found = market({"a": own, "b": 0}, [contract("a", "b", clauses=clauses)])
    found.run(3.0)
    told = {item.name for _, _, said in offers(found) for item in said.items}
    assert told == {"a1", *(f"a1{n}" for n in range(10))}


def test_a_seller_takes_no_more_than_leaves_it_as_quick_as_agreed():
    """L11."""
    found = market({"a": 110, "b": 0}, [contract("a", "b", clauses=Clauses(most_load={"cpu": 4}))])
    found.run(3.0)
    assert held(found) == [106, 4]


def test_contracts_made_and_ended_while_running():
    """L12: a fourth participant with one cheaper contract brings an overloaded three back below their capacity."""

    def ring(names):
        return [contract(x, y) for x in names for y in names if x != y]

    found = market({"a": 100, "b": 112, "c": 100, "d": 20}, ring("abc"))
    found.run(5.0)
    assert held(found) == [100, 112, 100, 20]
    joined = contract("c", "d", 80)
    for name in "cd":
        found.tell(name, Signed(joined))
    found.run(20.0)
    assert max(held(found)) == 100 and sum(held(found)) == 332
    said = len(offers(found))
    for name in "cd":
        found.tell(name, Cancelled("c", "d"))
    found.tell("c", Submitted(Task("more", unit(30), "c")))
    found.run(30.0)
    assert not [one for one in offers(found)[said:] if one[1] == "d"]


def test_prices_outside_the_contract_are_refused():
    """L13."""
    found = market({"a": 0, "b": 0}, [contract("a", "b", 100, 5)])
    for number, price in ((1, 94), (2, 101)):
        found.tell("b", Received("a", Offer(number, (), price)))
    assert [said for _, _, said in found.said if isinstance(said, Reject)] == [Reject(1), Reject(2)]
    stranger = market({"b": 0, "x": 0}, [])
    stranger.tell("b", Received("x", Offer(1, (), 100)))
    assert stranger.said == [("b", "x", Reject(1))]


# Time


def test_tasks_go_home_after_d_and_not_before():
    """L23, L29: neither side wants them to stay."""
    found = market({"a": 105, "b": 0}, [contract("a", "b", duration=10)])
    found.run(1.1)
    assert held(found) == [100, 5]
    for n in range(50, 90):
        found.tell("a", Withdrawn(f"a{n}"))
    found.run(10.9)
    assert held(found) == [60, 5]
    found.run(11.1)
    assert held(found) == [65, 0], "all are home within d and one cycle"
    assert [one.books.balance for one in found.participants.values()] == [-5000, 5000]


def test_tasks_stay_for_another_d_where_both_profit():
    """L24."""
    found = market({"a": 105, "b": 0}, [contract("a", "b", duration=10)])
    found.run(35.0)
    assert held(found) == [100, 5] and len(offers(found)) == 1
    a, b = (one.books for one in found.participants.values())
    assert (a.balance, b.balance) == (-4 * 5000, 4 * 5000), "the fourth term begins in the last quarter of the third"
    for name in [name for name in b.held if not name.startswith("a/")]:
        found.tell("b", Withdrawn(name))
    for task in tasks("b", 99):
        found.tell("b", Submitted(task))
    found.run(41.5)
    assert "a/1/a0" not in b.held and held(found)[1] <= 100, "the seller does not profit any more"


def test_a_partner_that_refused_is_asked_again_only_after_d():
    """L25."""
    found = market({"a": 110, "b": 100}, [contract("a", "b", duration=7)], retry_after=None)
    asked = []
    for tick in range(60):
        found.run(1 + tick / 2)
        asked += [found.now] * (len(offers(found)) - len(asked))
    assert len(asked) == 5 and all(late - early >= 7 for early, late in pairwise(asked))


def test_a_load_that_will_fall_is_not_moved():
    """L26: the cost is expected over the whole of d."""

    def falling(now, seconds):
        return ((Fraction(1, 10), Fraction(1)), (Fraction(9, 10), Fraction(1, 2)))

    for forecast, expected in ((falling, [103, 0]), (lambda now, seconds: ((Fraction(1), Fraction(1)),), [100, 3])):
        found = market({"a": 103, "b": 0}, [contract("a", "b", duration=5)], {"a": settings(forecast=forecast)})
        found.run(2.0)
        assert held(found) == expected


@pytest.mark.parametrize(("more", "moves"), [(-1, False), (0, False), (1, True)])
def test_moving_there_and_back_must_be_worth_it(more, moves):
    """L27: what is saved is the payment, twice the migration, and a little more or less."""
    saved = (101**2 - 100**2) * 10 / Fraction(2) - 100 * 10
    own = [*tasks("a", 100), Task("big", unit(), "a", migration=(saved - Fraction(more, 100)) / 2)]
    other = [Task(task.name, task.load, "a", migration=10**9) for task in own[:-1]]
    found = market({"a": [*other, own[-1]], "b": 0}, [contract("a", "b", duration=10)])
    found.run(1.5)
    assert held(found) == [101 - moves, int(moves)]


def test_a_load_that_jitters_about_the_price_moves_nothing():
    """L28: a thousand steps within the margin."""
    found = market({"a": tasks("a", 100), "b": 0}, [contract("a", "b")], margin=2)
    found.listening = True
    for step in range(1000):
        found.tell("a", Measured("a0", unit(1 + Fraction(step % 5 - 2, 1))))
        found.run(1 + step / 10)
    assert held(found) == [100, 0]
    found.tell("a", Measured("a0", unit(5)))
    found.run(found.now + 2)
    assert held(found) == [98, 2], "from the margin on it does"


# A range of prices


def test_a_light_seller_is_paid_the_lowest_price_in_one_step():
    """L37, L45: offer, answer, movement, and that it came."""
    found = market({"a": 103, "b": 10}, [contract("a", "b", 100, 5)])
    found.run(1.1)
    (lent,) = moved(found)
    assert lent.price == 95 and len(lent.tasks) == 8
    assert [type(said).__name__ for _, _, said in found.said] == ["Offer", "Accept", "Transfer", "Taken"]


def test_a_seller_inside_the_range_asks_for_more_for_one_task_and_above_it_refuses():
    """L38."""
    found = market({"a": 103, "b": 97}, [contract("a", "b", 100, 5)])
    found.run(1.1)
    (counter,) = [said for _, _, said in found.said if isinstance(said, Counter)]
    assert len(counter.names) == 1 and counter.price == 98 and held(found) == [102, 98]
    full = market({"a": 103, "b": 100}, [contract("a", "b", 100, 5)])
    full.run(1.1)
    assert [said for _, _, said in full.said if not isinstance(said, Offer)] == [Reject(1)]


def test_the_lowest_counter_offer_wins_and_the_others_are_released():
    """L40, L41: the first is still good when all have been asked."""
    found = market({"a": 105, "b": 97, "c": 95, "d": 96}, [contract("a", x, 100, 5) for x in "bcd"])
    found.run(1.0)
    assert len([said for *_, said in found.said if isinstance(said, Counter)]) == 3
    assert held(found) == [104, 97, 96, 96]
    assert {to for _, to, said in found.said if isinstance(said, Release)} == {"b", "d"}
    assert not any(found.participants[x].selling.reserved for x in "bcd"), "free again"


def test_room_behind_a_counter_offer_is_not_offered_to_another_buyer():
    """L42."""
    core = market({"b": 99, "x": 0, "y": 0}, [contract(x, "b", 100, 5) for x in "xy"]).participants["b"]
    asked = [core.handle(Received(x, Offer(1, (Item("q", unit()),), 95)), 1.0)[0] for x in "xy"]
    assert isinstance(asked[0].message, Counter) and asked[1].message == Reject(1)
    later = 1.0 + core.settings.counter_holds
    assert isinstance(core.handle(Received("y", Offer(2, (Item("q", unit()),), 95)), later)[0].message, Counter), (
        "it lapsed"
    )


def test_a_seller_that_lost_an_offer_asks_for_less_the_next_time():
    """L43: the buyer's value lies between its cost and its price."""
    found = market({"a": 99, "b": 97}, [contract("a", "b", 100, 5)], {"b": settings(bid=above(2))})
    found.run(1.5)
    assert held(found) == [99, 97]
    found.run(2.5)
    assert held(found) == [98, 98] and [said.price for *_, said in found.said if isinstance(said, Counter)] == [100, 98]


def test_load_flows_through_a_chain_of_ranges():
    """L36: the middle sells at the higher price and buys at the lower."""
    found = market({"a": 140, "b": 100, "c": 0}, [contract("a", "b", 100, 5), contract("b", "c", 100, 5)])
    found.run(100.0)
    assert max(held(found)) <= 100 and sum(held(found)) == 240


def test_a_silent_partner_delays_no_more_than_its_time_to_answer():
    """L41."""
    core = Participant("a", settings(answer_within=2.0))
    for task in tasks("a", 105):
        core.handle(Submitted(task), 0.0)
    for seller in ("b", "c"):
        core.handle(Signed(contract("a", seller)), 0.0)
    core.handle(Woken(), 1.0)
    assert core.buying.asked.terms.seller == "b"
    effects = core.handle(Woken(), 3.0)
    assert [one.to for one in effects if isinstance(getattr(one, "message", None), Offer)] == ["c"]
    assert Release(1) in [getattr(one, "message", None) for one in effects]


# Costs of other shapes


def test_queues_of_two_resources_share_their_load():
    """L3, L13: the price of a unit at 80 %."""
    costs = Costs({"cpu": Queue(), "bandwidth": Queue()})
    each = Settings(Worth(costs), retry_after=1.0)
    own = [Task(f"a{n}", Load({"cpu": Fraction(2, 100), "bandwidth": Fraction(1, 200)}), "a") for n in range(60)]
    terms = contract("a", "b", 25, units={"cpu": 1, "bandwidth": 1})
    found = market({"a": own, "b": []}, [terms], {"a": each, "b": each})
    found.run(5.0)
    a, b = (one.books.load["cpu"] for one in found.participants.values())
    assert Fraction(3, 4) < a < Fraction(17, 20) and a + b == Fraction(6, 5)


def test_memory_moves_in_groups():
    costs = Settings(Worth(Costs({"cpu": Step(16, 1000)})), retry_after=1.0)
    found = market({"a": 20, "b": 3}, [contract("a", "b", 100)], {"a": costs, "b": costs})
    found.run(5.0)
    assert held(found) == [16, 7] and [said.whole for _, _, said in offers(found)] == [True]
    full = market({"a": 20, "b": 14}, [contract("a", "b", 100)], {"a": costs, "b": costs})
    full.run(5.0)
    assert held(full) == [20, 14], "part of it would be of no use"


def test_a_counter_offer_under_a_contract_that_has_ended_is_not_taken():
    core = Participant("a", settings())
    for task in tasks("a", 105):
        core.handle(Submitted(task), 0.0)
    for seller in ("b", "c"):
        core.handle(Signed(contract("a", seller, 100, 5)), 0.0)
    core.handle(Woken(), 1.0)
    core.handle(Received("b", Counter(1, ("a0",), 97, 1.0, 10.0)), 1.1)
    core.handle(Cancelled("a", "b"), 1.2)
    effects = core.handle(Received("c", Reject(1)), 1.3)
    assert [(one.to, one.message) for one in effects if hasattr(one, "message")] == [("b", Release(1))]
    assert not core.books.lent


def test_a_borrowed_task_moves_on_only_if_what_is_left_of_its_term_pays_for_the_way():
    """L27: it saves 9.5 a second for half of d; to move it there and back costs as much as 6 seconds of that."""
    first = contract("a", "b", 100, duration=10)
    on = contract("b", "c", 90, duration=10, clauses=Clauses(("a/*",)))
    for migration, goes in ((0, True), (28, False)):
        core = Participant("b", settings())
        for event in (*map(Submitted, tasks("b", 99)), Signed(first), Signed(on)):
            core.handle(event, 0.0)
        core.handle(Received("a", Offer(1, (Item("q", unit(), migration=migration),), 100)), 0.0)
        core.handle(Received("a", Transfer(1, ("q",), 100, Fraction(1000), 10, 0.0)), 0.0)
        assert len(core.books.borrowed) == 1
        effects = core.handle(Woken(), 5.0)
        assert any(isinstance(getattr(one, "message", None), Offer) for one in effects) is goes
