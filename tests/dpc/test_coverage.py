"""Coverage: spans are united, the worst wins, and constraints hold back what is computed from too little."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from auroral.dpc.coverage import NOTHING, AtLeast, Coverage, Level, together

C, P, M = Level


def test_windows_unite_spans():
    parts = [Coverage.of("ab", k, M if k == 3 else C) for k in range(1, 5)]
    assert together(parts).spans["a"] == ((1, 3, C), (3, 4, M), (4, 5, C))
    assert not together(parts).complete
    assert together(parts[:2]).complete


def test_the_worst_wins_where_two_say_something():
    one = Coverage({"a": ((0, 10, C),), "b": ((0, 1, P),)})
    other = Coverage({"a": ((4, 6, M), (8, 12, P))})
    assert together([one, other]).spans == {
        "a": ((0, 4, C), (4, 6, M), (6, 8, C), (8, 12, P)),
        "b": ((0, 1, P),),
    }


def test_two_of_three_sites():
    asked = AtLeast(2, frozenset("abc"))
    assert not asked.allows(NOTHING)
    some = together([Coverage.of("a", 1, C), Coverage.of("b", 1, P), Coverage.of("c", 1, M)])
    assert asked.allows(some)
    assert not AtLeast(2, frozenset("abc"), C).allows(some)
    assert not asked.allows(together([some, Coverage.of("b", 2, M)])), "the worst of its window counts"


spans = st.lists(st.tuples(st.integers(0, 8), st.integers(1, 4), st.sampled_from(Level)), max_size=5)
coverages = st.lists(spans, max_size=4).map(
    lambda each: [together(Coverage({"s": ((b, b + n, level),)}) for b, n, level in one) for one in each]
)


def by_bucket(coverage: Coverage) -> dict[int, Level]:
    return {b: level for lo, hi, level in coverage.spans.get("s", ()) for b in range(lo, hi)}


@given(coverages)
def test_as_if_each_bucket_were_noted_by_itself(parts):
    expected: dict[int, Level] = {}
    for part in parts:
        for bucket, level in by_bucket(part).items():
            expected[bucket] = max(level, expected.get(bucket, C))
    found = together(parts)
    assert by_bucket(found) == expected
    assert together([found, *parts]) == together([found]), "nothing counts twice"
    assert all(a[1] < b[0] or a[2] is not b[2] for a, b in pairwise(found.spans.get("s", ())))
