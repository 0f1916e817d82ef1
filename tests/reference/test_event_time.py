"""Windows on event time: lateness, and what becomes of rows that come later still."""

from hypothesis import given
from hypothesis import strategies as st

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.windows import EventTimeWindow, LatePolicy
from reference.running import rows, run_box, shown

DDL = "e timestamp, k string, v int"


def windowed(late=LatePolicy.LEDGER, size=10, advance=10, lateness=5, ahead=0, correct_for=0):
    window = EventTimeWindow("e", size, advance, lateness, late, ahead, correct_for)
    return Aggregate((("n", "count()"), ("s", "sum(v)")), window, ("k",), start="w")


# (stime, event time, key, value)
IN_TIME = [(9, 3, "a", 1), (14, 9, "a", 2), (14, 11, "b", 4)]


def test_a_window_closes_at_its_end_and_lateness():
    result = run_box(windowed(), DDL, rows(*IN_TIME), until=25)
    assert shown(result) == [(14, "a", 0, 2, 3), (24, "b", 10, 1, 4)]
    assert [row.order for row in result.streams["o0"]] == [(0, "a"), (10, "b")]
    assert shown(run_box(windowed(), DDL, rows(*IN_TIME), until=24)) == [(14, "a", 0, 2, 3)]
    assert shown(run_box(windowed(), DDL, rows(*IN_TIME), until=20, flush=True))[-1] == (24, "b", 10, 1, 4)


def test_ledger_counts_late_rows_and_nulls():
    result = run_box(windowed(), DDL, rows(*IN_TIME, (15, 9, "a", 8), (16, None, "a", 8)), until=25)
    assert shown(result) == [(14, "a", 0, 2, 3), (24, "b", 10, 1, 4)]
    assert result.ledger == {("b", "late"): 2}


def test_rows_too_far_ahead():
    given = rows((5, 7, "a", 1), (5, 8, "a", 2))
    result = run_box(windowed(ahead=2), DDL, given, until=100)
    assert shown(result) == [(14, "a", 0, 1, 1)]
    assert result.ledger == {("b", "ahead"): 1}


def test_late_for_some_windows_only_is_not_late():
    spec = windowed(size=20, advance=10)
    # At 25, [-10, 10) and [0, 20) have closed: 9 is late for both its windows, 15 still counts for [10, 30).
    result = run_box(spec, DDL, rows((25, 9, "a", 1), (25, 15, "a", 2)), until=100)
    assert shown(result) == [(34, "a", 10, 1, 2)]
    assert result.ledger == {("b", "late"): 1}


def test_side_output_takes_late_rows_nulls_and_rows_ahead():
    given = rows(*IN_TIME, (15, 9, "a", 8), (16, None, "c", 9), (17, 18, "a", 7))
    result = run_box(windowed(LatePolicy.SIDE), DDL, given, until=25, outputs=2)
    assert shown(result, "o0") == [(14, "a", 0, 2, 3), (24, "b", 10, 1, 4)]
    assert shown(result, "o1") == [(15, 9, "a", 8), (16, None, "c", 9), (17, 18, "a", 7)]
    assert result.ledger == {("b", "late"): 2, ("b", "ahead"): 1}


class TestCorrect:
    spec = windowed(LatePolicy.CORRECT, correct_for=10)

    def test_a_late_row_corrects_its_window_and_group(self):
        result = run_box(self.spec, DDL, rows(*IN_TIME, (15, 9, "a", 8)), until=20)
        assert shown(result) == [(14, "a", 0, 2, 3), (15, "a", 0, 3, 11)]
        assert result.ledger == {}

    def test_one_correction_for_each_stime(self):
        late = [(15, 9, "a", 10), (15, 8, "a", 20), (15, 7, "c", 30), (18, 6, "a", 40)]
        result = run_box(self.spec, DDL, rows(*IN_TIME, *late), until=20)
        assert shown(result) == [
            (14, "a", 0, 2, 3),
            (15, "a", 0, 4, 33),
            (15, "c", 0, 1, 30),
            (18, "a", 0, 5, 73),
        ]

    def test_beyond_correct_for_a_row_is_late(self):
        result = run_box(self.spec, DDL, rows(*IN_TIME, (24, 9, "a", 8), (25, 9, "a", 16)), until=26)
        assert shown(result) == [(14, "a", 0, 2, 3), (24, "a", 0, 3, 11), (24, "b", 10, 1, 4)]
        assert result.ledger == {("b", "late"): 1}

    def test_a_window_that_was_empty_appears(self):
        assert shown(run_box(self.spec, DDL, rows((20, 5, "a", 8)), until=21)) == [(20, "a", 0, 1, 8)]

    def test_a_row_may_count_here_and_correct_there(self):
        spec = windowed(LatePolicy.CORRECT, size=20, advance=10, correct_for=5)
        result = run_box(spec, DDL, rows((12, 12, "a", 1), (26, 13, "a", 2)), until=100)
        assert shown(result) == [(24, "a", 0, 1, 1), (26, "a", 0, 2, 3), (34, "a", 10, 2, 3)]


def by_definition(given, window, until):
    """Results, and the numbers of late rows and of rows ahead, window by window over all rows."""
    found, windows, late, ahead = [], {}, 0, 0
    for stime, event, key, value in given:
        if stime >= until:
            continue
        if event is not None and event > stime + window.ahead:
            ahead += 1
            continue
        starts = [m * window.advance for m in range(-60, 60)] if event is not None else []
        takes = [
            start
            for start in starts
            if start <= event < start + window.size
            and stime < start + window.size + window.lateness + window.correct_for
        ]
        late += not takes
        for start in takes:
            windows.setdefault((start, key), []).append((stime, value))
    for (start, key), members in windows.items():
        close = start + window.size + window.lateness
        late_stimes = {stime for stime, _ in members if stime >= close}
        regular = {close - 1} if close <= until and any(stime < close for stime, _ in members) else set()
        for at in regular | late_stimes:
            values = [value for stime, value in members if stime <= at]
            found.append((at, key, start, len(values), sum(values)))
    return sorted(found), late, ahead


@st.composite
def event_windows(draw):
    late = draw(st.sampled_from(LatePolicy))
    size = draw(st.integers(1, 12))
    correct_for = draw(st.integers(1, 8)) if late is LatePolicy.CORRECT else 0
    lengths = draw(st.integers(1, size)), draw(st.integers(0, 6))
    return EventTimeWindow("e", size, *lengths, late, draw(st.integers(0, 4)), correct_for)


TIMES = st.integers(-10, 40)
ROWS = st.lists(st.tuples(TIMES, st.none() | TIMES, st.sampled_from("ab"), st.integers(0, 9)), max_size=20)


@given(ROWS, event_windows(), st.integers(-5, 70))
def test_windows_are_those_of_the_definition(given_rows, window, until):
    spec = Aggregate((("n", "count()"), ("s", "sum(v)")), window, ("k",), start="w")
    side = window.late is LatePolicy.SIDE
    result = run_box(spec, DDL, rows(*given_rows), until, outputs=1 + side)
    found, late, ahead = by_definition(given_rows, window, until)
    assert sorted(shown(result)) == found
    assert (result.ledger.get(("b", "late"), 0), result.ledger.get(("b", "ahead"), 0)) == (late, ahead)
    if side:
        assert len(shown(result, "o1")) == late + ahead
