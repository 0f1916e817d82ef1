"""Joins against the definition, pair by pair."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auroral.model.boxes.join import Join, JoinBuffer, JoinKind
from auroral.model.diagram import Box
from reference.running import rows, run

COLUMNS = (("lk", "left.k"), ("lv", "left.v"), ("rk", "right.k"), ("rv", "right.v"))


def joined(left, right, left_size, right_size, kind=JoinKind.INNER, until=10_000, flush=False, columns=COLUMNS):
    spec = Join("left.k == right.k", JoinBuffer(left_size), JoinBuffer(right_size), columns, kind)
    inputs = {"l": ("k int, v int", rows(*left)), "r": ("k int, v int", rows(*right))}
    result = run(inputs, [Box("j", spec, ("l", "r"), ("o",))], ["o"], until, flush)
    # Of each side's order key, its stime and a source's number of the row, the number.
    return [(row.stime, *row.values, row.order[1], row.order[3]) for row in result.streams["o"]]


def by_definition(left, right, left_size, right_size, kind, until):
    found, with_partner = [], set()
    for i, (lt, lk, lv) in enumerate(left):
        for j, (rt, rk, rv) in enumerate(right):
            if max(lt, rt) < until and lt - right_size <= rt <= lt + left_size and lk is not None and lk == rk:
                found.append((max(lt, rt), lk, lv, rk, rv, i, j))
                with_partner |= {("l", i), ("r", j)}
    if kind is JoinKind.LEFT:
        for i, (t, k, v) in enumerate(left):
            if ("l", i) not in with_partner and t + left_size < until:
                found.append((t + left_size, k, v, None, None, i, None))
    if kind is JoinKind.RIGHT:
        for j, (t, k, v) in enumerate(right):
            if ("r", j) not in with_partner and t + right_size < until:
                found.append((t + right_size, None, None, k, v, None, j))
    return found


SIDE = st.lists(st.tuples(st.integers(-10, 30), st.none() | st.integers(0, 2), st.none() | st.integers()), max_size=12)


@given(SIDE, SIDE, st.integers(0, 8), st.integers(0, 8), st.sampled_from(JoinKind), st.integers(0, 50))
def test_all_pairs_within_the_window(left, right, left_size, right_size, kind, until):
    expected = by_definition(left, right, left_size, right_size, kind, until)
    got = joined(left, right, left_size, right_size, kind, until)
    assert sorted(map(repr, got)) == sorted(map(repr, expected))


def test_both_ends_of_the_window_are_in():
    right = [(t, 1, t) for t in range(20)]
    pairs = joined([(10, 1, 0)], right, left_size=3, right_size=2)
    assert [(stime, rv) for stime, _, _, _, rv, *_ in pairs] == [
        (10, 8),
        (10, 9),
        (10, 10),
        (11, 11),
        (12, 12),
        (13, 13),
    ]


def test_an_unmatched_row_comes_when_nothing_can_match_it_any_more():
    assert joined([(10, 1, 7)], [], 3, 2, JoinKind.LEFT, until=13) == []
    assert joined([(10, 1, 7)], [], 3, 2, JoinKind.LEFT, until=14) == [(13, 1, 7, None, None, 0, None)]
    assert joined([], [(10, 1, 7)], 3, 2, JoinKind.RIGHT, until=14) == [(12, None, None, 1, 7, None, 0)]
    assert joined([(10, 1, 7)], [], 3, 2, JoinKind.LEFT, until=11, flush=True) == [(13, 1, 7, None, None, 0, None)]


@pytest.mark.parametrize("kind", JoinKind)
def test_nulls_never_match(kind):
    got = joined([(1, None, 1)], [(1, None, 2)], 0, 0, kind)
    assert len(got) == (kind is not JoinKind.INNER)


def test_columns_of_an_unmatched_row_are_expressions_over_nulls():
    columns = (("sum", "left.v + right.v"), ("lt", "left.stime"), ("rt", "right.stime"))
    assert joined([(1, 1, 5)], [], 0, 0, JoinKind.LEFT, columns=columns) == [(1, None, 1, None, 0, None)]
