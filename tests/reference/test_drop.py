"""Drop boxes: what goes is decided by a hash, and counted."""

import math

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.drop import RandomDrop, WindowDrop
from auroral.model.boxes.stateless import Filter
from auroral.model.diagram import Box
from auroral.model.types import LONG, STRING
from auroral.model.windows import StimeWindow
from auroral.model.xxhash import window_is_dropped, xxhash64
from reference.running import rows, run, run_box, shown


def test_random_drop_goes_by_hash_of_stime_columns_and_ordinal():
    given = rows(*((t // 4, "same") for t in range(400)))
    result = run_box(RandomDrop(0.25), "v string", given)
    kept = [
        (stime, "same")
        for stime in range(100)
        for ordinal in range(4)
        if xxhash64([(STRING, "b"), (LONG, stime), (STRING, "same"), (LONG, ordinal)]) % 2**32 >= 0.25 * 2**32
    ]
    assert shown(result) == kept
    assert result.ledger == {("b", "shed"): 400 - len(kept)}
    assert 70 < 400 - len(kept) < 130


def test_random_drop_of_all_and_of_nothing():
    given = rows(*((t, t) for t in range(50)))
    assert shown(run_box(RandomDrop(1.0), "v int", given)) == []
    none = run_box(RandomDrop(0.0), "v int", given)
    assert (len(shown(none)), none.ledger) == (50, {})


def test_rows_that_group_together_share_ordinals():
    """NaNs and zeros of both signs are equal rows, so one of them must not stand or fall like the other."""
    for value in (math.nan, 0.0, None):
        plain = run_box(RandomDrop(0.5), "v double", rows(*((1, value) for _ in range(64))))
        signed = run_box(
            RandomDrop(0.5),
            "v double",
            rows(*((1, -value if value is not None and i % 2 else value) for i in range(64))),
        )
        kept = [sorted(row.order for row in result.streams["o0"]) for result in (plain, signed)]
        assert kept[0] == kept[1]
        assert signed.ledger == plain.ledger
        assert 10 < signed.ledger["b", "shed"] < 54


GIVEN = rows(*((t, "ab"[t % 2], t) for t in range(400)))
DDL = "k string, v int"
COUNT = Aggregate((("n", "count()"), ("s", "sum(v)")), StimeWindow(10, 5), ("k",), start="w")


def test_window_drop_keeps_rows_of_a_kept_window():
    result = run_box(WindowDrop(0.5, 3, 10, 5, group_by=("k",)), DDL, GIVEN)
    kept = []
    for stime, key, value in ((t, "ab"[t % 2], t) for t in range(400)):
        windows = [m for m in range(-5, 100) if m * 5 <= stime < m * 5 + 10]
        if not all(window_is_dropped("b", [(STRING, key)], m // 3, 0.5) for m in windows):
            kept.append((stime, key, value))
    assert shown(result) == kept
    assert result.ledger == {("b", "shed"): 400 - len(kept)}
    assert 0 < len(kept) < 400


def test_an_aggregate_after_window_drop_gives_a_subset_of_the_full_results():
    full = run_box(COUNT, DDL, GIVEN, until=400)
    boxes = [
        Box("shed", WindowDrop(0.5, 2, 10, 5, group_by=("k",)), ("s",), ("x",)),
        Box("all", Filter(("v >= 0",)), ("x",), ("y",)),
        Box("agg", COUNT, ("y",), ("o",)),
    ]
    result = run({"s": (DDL, GIVEN)}, boxes, ["o"], until=400)
    dropped = [
        (end, key, start, n, s)
        for end, key, start, n, s in shown(full)
        if window_is_dropped("shed", [(STRING, key)], start // 5 // 2, 0.5)
    ]
    assert shown(result, "o") == [row for row in shown(full) if row not in dropped]
    assert 0 < len(dropped) < len(shown(full))
