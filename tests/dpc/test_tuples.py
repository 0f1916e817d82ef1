"""The tuple view (D46, D53-D56): UNDO names what stays, corrections follow, one REC_DONE ends them."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from auroral.dpc.tuples import Tuple, TupleType, TupleView


def short(tuples: Iterable[Tuple]) -> list[tuple[str, int] | tuple[str, int, object]]:
    return [(t.type.name[0], t.position) if t.row is None else (t.type.name[0], t.position, t.row) for t in tuples]


def told(view: TupleView, *steps: tuple[str, int, str]) -> list[object]:
    found: list[object] = []
    for what, bucket, rows in steps:
        found += short(view.stable(bucket, tuple(rows)) if what == "S" else view.tentative(bucket, tuple(rows)))
    return found


def test_a_failure_and_its_correction():
    """Fig. 4-6: what was stable stays, what was tentative is deleted, stable tuples take its place. Hole 5: nothing comes between."""
    found = told(TupleView(), ("S", 0, "a"), ("T", 1, "x"), ("T", 2, "y"), ("S", 1, "b"), ("S", 2, "c"), ("S", 3, "d"))
    assert found == [
        ("I", 0, "a"), ("B", 1), ("T", 1, "x"), ("T", 2, "y"),
        ("U", 1), ("I", 1, "b"), ("B", 2), ("I", 2, "c"), ("B", 3), ("R", 3), ("I", 3, "d"), ("B", 4),
    ]  # fmt: skip


def test_what_is_new_while_corrections_come_belongs_to_the_same_failure():
    found = told(TupleView(), ("T", 0, "x"), ("T", 1, "y"), ("S", 0, "a"), ("T", 2, "z"), ("S", 1, "b"), ("S", 2, "c"))
    assert found == [
        ("T", 0, "x"), ("T", 1, "y"), ("U", 0), ("I", 0, "a"), ("B", 1), ("T", 2, "z"),
        ("U", 1), ("I", 1, "b"), ("B", 2), ("I", 2, "c"), ("B", 3), ("R", 3),
    ]  # fmt: skip


def test_a_failure_during_the_correction_forces_the_end():
    view = TupleView()
    told(view, ("T", 0, "x"), ("T", 1, "y"), ("S", 0, "a"))
    assert short(view.interrupted()) == [("R", 1)]
    assert short(view.interrupted()) == []
    assert told(view, ("T", 1, "z"), ("S", 1, "b")) == [("T", 1, "z"), ("U", 1), ("I", 1, "b"), ("B", 2), ("R", 2)]


def test_another_version_of_what_is_shown():
    view = TupleView()
    assert told(view, ("T", 0, "x"), ("T", 1, "y"), ("T", 0, "x")) == [("T", 0, "x"), ("T", 1, "y")]
    assert told(view, ("T", 0, "w")) == [("U", 0), ("T", 0, "w"), ("T", 1, "y")]


def applied(tuples: Iterable[Tuple]) -> tuple[list[object], list[object]]:
    """What a client holds that does as it is told: stable rows, and tentative ones behind them."""
    stable: list[object] = []
    tentative: list[object] = []
    for one in tuples:
        match one.type:
            case TupleType.INSERTION:
                stable.append(one.row)
            case TupleType.TENTATIVE:
                tentative.append(one.row)
            case TupleType.UNDO:
                tentative.clear()
    return stable, tentative


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3), st.text("xyz", max_size=2)), max_size=30))
def test_who_leaves_out_what_is_tentative_sees_the_stable_stream(steps):
    """D46; and who follows all of it holds the newest versions."""
    view, found, expected = TupleView(), [], []
    for stable, ahead, rows in steps:
        if stable:
            found += view.stable(view.frontier, tuple(rows))
            expected += rows
        else:
            found += view.tentative(view.frontier + ahead, tuple(rows))
    held, behind = applied(found)
    assert held == expected
    assert behind == [row for _, rows in sorted(view.shown.items()) for row in rows]
    kinds = [one.type for one in found]
    assert kinds.count(TupleType.REC_DONE) <= kinds.count(TupleType.UNDO)


def test_what_is_tentative_before_a_gap_stays():
    view = TupleView()
    for bucket in range(4):
        list(view.tentative(bucket, (bucket,)))
    assert list(view.gap(2)) == [Tuple(TupleType.GAP, 2)]
    assert view.shown == {2: (2,), 3: (3,)}
    assert next(iter(list(view.stable(2, (9,))))) == Tuple(TupleType.UNDO, 2)
    assert list(view.gap(4)) == [Tuple(TupleType.GAP, 4), Tuple(TupleType.REC_DONE, 4)]
