"""Replicas that made different stable buckets are found, once, whichever of them is ahead."""

from __future__ import annotations

from auroral.dpc.divergence import MOST_AT_ONCE, REMEMBERED, Comparison
from auroral.dpc.events import Report
from auroral.dpc.values import Hashes


def made(found: Comparison, *hashes: int, begin: int = 0) -> list[Report]:
    return [report for bucket, hash in enumerate(hashes, begin) for report in found.made(bucket, hash)]


def difference(bucket: int) -> Report:
    return Report("diverged", "o", detail=f"qa and qb differ in bucket {bucket}")


def test_a_difference_is_told_once():
    found = Comparison("o", "qa")
    made(found, 10, 11, 12, 13)
    assert list(found.heard("qb", Hashes(0, (10, 11)))) == []
    assert list(found.heard("qb", Hashes(2, (92, 93)))) == [difference(2)]
    assert list(found.heard("qc", Hashes(3, (93,)))) == [
        Report("diverged", "o", detail="qa and qc differ in bucket 3")
    ], "of each pair"


def test_who_made_something_else_is_told_so():
    first, second = Comparison("o", "qa"), Comparison("o", "qb")
    made(first, 10, 11, 12)
    made(second, 10, 91, 92)
    assert list(first.heard("qb", second.tell("qa"))) == [difference(1)]
    assert first.tell("qb") == Hashes(2, (12,)), "where they differed last: it may have begun again since"
    assert list(second.heard("qa", first.tell("qb"))) == [
        Report("diverged", "o", detail="qb and qa differ in bucket 2")
    ]
    assert second.tell("qa") == Hashes(2, (92,))


def test_who_is_behind_compares_later():
    found = Comparison("o", "qa")
    assert list(found.heard("qb", Hashes(0, (10, 11, 12)))) == []
    assert made(found, 10, 99, 12) == [difference(1)]


def test_each_bucket_is_told_once_and_again_if_it_may_be_lost():
    found = Comparison("o", "qb")
    made(found, *range(MOST_AT_ONCE + 2))
    assert found.tell("qa") == Hashes(0, tuple(range(MOST_AT_ONCE)))
    assert found.tell("qa") == Hashes(MOST_AT_ONCE, (MOST_AT_ONCE, MOST_AT_ONCE + 1))
    assert found.tell("qa") == Hashes(MOST_AT_ONCE + 2, ())
    found.disconnected("qa")
    assert found.tell("qa").begin == 0


def test_no_more_is_remembered_than_is_of_use():
    found = Comparison("o", "qa")
    list(found.heard("qb", Hashes(0, tuple(range(3 * REMEMBERED)))))
    assert len(found.claims["qb"]) == REMEMBERED
    made(found, *range(2 * REMEMBERED))
    assert len(found.own) == REMEMBERED
    assert found.claims["qb"] == {}


def test_a_gap_differs_from_nothing():
    found = Comparison("o", "qa")
    made(found, 10, -1)
    assert list(found.heard("qb", Hashes(0, (-1, 11)))) == []


def test_what_is_forgotten_is_neither_told_nor_compared():
    found = Comparison("o", "qa")
    made(found, *range(REMEMBERED + 5))
    assert found.tell("qb").begin == 5
    assert list(found.heard("qb", Hashes(0, (7, 7, 7)))) == [] and found.claims["qb"] == {}


def test_no_rows_have_a_hash_too():
    """Only a negative one stands for a gap."""
    found = Comparison("o", "qa")
    made(found, 0, 11)
    assert list(found.heard("qb", Hashes(0, (5,)))) == [difference(0)]
    assert list(found.heard("qc", Hashes(1, (0,)))) != []
