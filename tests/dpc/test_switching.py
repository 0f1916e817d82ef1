"""Tables 4.2 and 4.3: every combination of states (D30, D31)."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from auroral.dpc.states import State
from auroral.dpc.switching import (
    FAILURE,
    STABILIZATION,
    STABLE,
    TABLE_4_2,
    TABLE_4_3,
    UP_FAILURE,
    Choice,
    Feed,
    Lane,
    Offer,
    as_markdown,
    choose,
    feeds,
)


def offered(curr: State, bck: State | None, others: tuple[State, ...]) -> dict[str, Offer]:
    given = {"curr": Offer(curr)} | ({"bck": Offer(bck)} if bck is not None else {})
    return given | {f"r{i}": Offer(state) for i, state in enumerate(others)}


def feed(name: str | None, offers: dict[str, Offer]) -> Feed | None:
    return next((found for found in feeds(offers) if found.replica == name), None)


def sets() -> list[tuple[State, ...]]:
    return [chosen for n in range(5) for chosen in combinations(State, n)]


@pytest.mark.parametrize(
    ("curr", "others", "row", "taken"),
    [
        (STABLE, (STABLE, UP_FAILURE), 1, "curr"),
        (UP_FAILURE, (STABLE, UP_FAILURE), 2, "r0"),
        (STABILIZATION, (FAILURE, STABLE), 2, "r1"),
        (UP_FAILURE, (UP_FAILURE, STABILIZATION), 3, "curr"),
        (FAILURE, (STABILIZATION, UP_FAILURE), 4, "r1"),
        (STABILIZATION, (UP_FAILURE,), 4, "r0"),
        (FAILURE, (STABILIZATION, FAILURE), 5, "curr"),
    ],
)
def test_table_4_2(curr, others, row, taken):
    offers = offered(curr, None, others)
    found = choose(feed("curr", offers), None, offers, TABLE_4_2)
    assert (found.curr, found.bck, found.rows[0]) == (feed(taken, offers), None, row)


@pytest.mark.parametrize(
    ("curr", "bck", "others", "rows", "taken", "behind"),
    [
        (STABLE, STABILIZATION, (STABLE,), (1,), "curr", None),
        (UP_FAILURE, STABILIZATION, (STABLE,), (2, 1), "r0", None),
        (UP_FAILURE, STABILIZATION, (UP_FAILURE,), (3,), "curr", "bck"),
        (UP_FAILURE, FAILURE, (UP_FAILURE, FAILURE), (4,), "curr", None),
        (UP_FAILURE, None, (STABILIZATION, UP_FAILURE), (5, 3), "curr", "r0"),
        (STABILIZATION, None, (STABILIZATION, FAILURE), (6,), "curr", None),
        (STABILIZATION, FAILURE, (FAILURE, UP_FAILURE), (7, 3), "r1", "curr"),
        (STABILIZATION, STABILIZATION, (UP_FAILURE,), (8, 7, 3), "r0", "bck"),
        (STABILIZATION, STABILIZATION, (STABLE,), (2, 1), "r0", None),
        (FAILURE, None, (STABILIZATION, UP_FAILURE), (9, 5, 3), "r1", "r0"),
        (FAILURE, None, (STABILIZATION, FAILURE), (10, 6), "r0", None),
        (FAILURE, FAILURE, (FAILURE,), (11,), "curr", None),
        # The better one is Curr before any row is looked at.
        (FAILURE, UP_FAILURE, (), (4,), "bck", None),
        (STABILIZATION, STABLE, (), (1,), "bck", None),
    ],
)
def test_table_4_3(curr, bck, others, rows, taken, behind):
    offers = offered(curr, bck, others)
    found = choose(feed("curr", offers), feed("bck", offers), offers)
    assert found == Choice(feed(taken, offers), feed(behind, offers), rows)


def test_every_combination_is_covered_and_ends():
    cases = 0
    for curr, bck, others in product(State, (None, *State), sets()):
        offers = offered(curr, bck, others)
        found = choose(feed("curr", offers), feed("bck", offers), offers)
        cases += 1
        best = min((curr, *([] if bck is None else [bck]), *others))
        assert found.curr is not None
        state = feeds(offers)[found.curr]
        assert state is best, "Curr is never worse than what is there"
        if found.bck is not None:
            assert state is UP_FAILURE
            assert feeds(offers)[found.bck] is STABILIZATION
    assert cases == 4 * 5 * 16


def test_only_the_overlaps_that_are_known():
    """Two pairs of rows overlap, as printed; the first of each is meant."""
    overlaps = set()
    for curr, bck, others in product(State, (None, *State), sets()):
        if bck is not None and bck < curr:
            continue
        held = [row.number for row in TABLE_4_3 if row.holds(curr, bck, others)]
        assert held
        if len(held) > 1:
            overlaps.add(tuple(held))
    # As 10 says that there is none in UP_FAILURE, 9 and 10 do not overlap here.
    assert overlaps == {(2, 8)}


def test_a_replica_that_corrects_and_stays_fresh_is_both_feeds():
    offers = {"a": Offer(STABILIZATION, fresh=True), "b": Offer(FAILURE)}
    found = choose(feed("b", offers), None, offers)
    assert (found.curr, found.bck) == (Feed("a", Lane.FRESH), Feed("a", Lane.CORRECT))
    # A feed goes on as the lane that took its place.
    assert choose(Feed("a", Lane.BOTH), None, offers).curr == Feed("a", Lane.FRESH)
    healed = {"a": Offer(STABLE), "b": Offer(FAILURE)}
    assert choose(found.curr, found.bck, healed) == Choice(Feed("a", Lane.BOTH), None, (1,))


def test_the_most_advanced_of_equals_is_taken():
    offers = {"a": Offer(STABLE, frontier=3), "b": Offer(STABLE, frontier=7), "c": Offer(FAILURE)}
    assert choose(feed("c", offers), None, offers).curr == feed("b", offers)
    assert choose(feed("a", offers), None, offers).curr == feed("a", offers), "a stable one is kept"
    assert choose(None, None, {}) == Choice(None, None)


def test_two_equals_stay_as_they_are():
    offers = {"curr": Offer(UP_FAILURE), "bck": Offer(UP_FAILURE, frontier=9)}
    assert choose(feed("curr", offers), feed("bck", offers), offers) == Choice(feed("curr", offers), None, (4,))


@pytest.mark.parametrize(("curr", "bck", "taken"), [(3, 7, "bck"), (7, 3, "curr"), (5, 5, "bck")])
def test_of_two_that_correct_the_more_advanced_is_read(curr, bck, taken):
    """Row 8; of equals the first by name."""
    offers = {"curr": Offer(STABILIZATION, frontier=curr), "bck": Offer(STABILIZATION, frontier=bck)}
    assert choose(feed("curr", offers), feed("bck", offers), offers) == Choice(feed(taken, offers), None, (8, 6))


def test_among_equals_the_first_by_name_is_taken():
    offers = {"b": Offer(UP_FAILURE, frontier=4), "a": Offer(UP_FAILURE, frontier=4), "c": Offer(STABILIZATION)}
    assert choose(None, None, offers) == Choice(Feed("a", Lane.BOTH), Feed("c", Lane.CORRECT), (5, 3))


def test_corrections_are_read_from_another_replica_if_there_is_one():
    fresh = Offer(STABILIZATION, fresh=True, frontier=9)
    offers = {"a": fresh, "b": Offer(STABILIZATION)}
    assert choose(Feed("a", Lane.BOTH), None, offers) == Choice(Feed("a", Lane.FRESH), Feed("b", Lane.CORRECT), (5, 3))


def test_where_curr_is_gone_bck_takes_its_place():
    offers = {"a": Offer(UP_FAILURE, frontier=9), "b": Offer(UP_FAILURE)}
    gone = Feed("gone", Lane.BOTH)
    assert choose(gone, feed("b", offers), offers).curr == feed("b", offers)
    assert choose(gone, None, offers).curr == feed("a", offers)
    assert choose(feed("b", offers), feed("b", offers), offers) == Choice(feed("b", offers), None, (4,))


def test_the_page_says_what_the_tables_do():
    lines = as_markdown(TABLE_4_3).splitlines()
    assert lines[2] == "| 1 | STABLE | any | any | drop Bck; stay |"
    assert lines[6] == ("| 5 | UP_FAILURE | none, UP_FAILURE, FAILURE | r is STABILIZATION, none STABLE | Bck = r |")
    assert len(lines) == 2 + 11


@pytest.mark.parametrize("lane", list(Lane))
def test_a_replica_that_is_read_is_read_on_when_its_lanes_change(lane):
    offers = {"a": Offer(STABLE, frontier=9), "b": Offer(STABLE)}
    assert choose(Feed("b", lane), None, offers) == Choice(Feed("b", Lane.BOTH), None, (1,))
