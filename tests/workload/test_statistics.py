"""Time series of statistics (L75-L77)."""

from __future__ import annotations

import math
import statistics
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auroral.workload.statistics import Average, NoStatistics, Series, Statistics, deviation, mean


def filled(values=(5.0, 4.0, 3.0, 2.0, 1.0), begin=10.0, precision=2.0):
    return Series(begin, precision, len(values), {"s": tuple(values)})


def test_the_newest_is_first_and_zeros_are_before_the_first():
    """L75."""
    found = Statistics()
    found.add("rate", precision=2.0, window=3, begin=100.0)
    found.begin("rate", ["s", "t"])
    for number in range(1, 5):
        found.sample("rate", {"s": float(number)})
        series = found.copy("rate")
        assert series.of("s")[0] == number and series.end == 100.0 + 2 * number
    assert found.copy("rate").samples == {"s": (4.0, 3.0, 2.0), "t": (0.0, 0.0, 0.0)}
    found.end("rate", ["t"])
    assert set(found.copy("rate").samples) == {"s"}
    assert found.copy("rate", ["s"]).of("s") == (4.0, 3.0, 2.0)


def test_means_between_positions_that_are_not_whole():
    """L75."""
    samples = (4.0, 2.0, 8.0)
    assert mean(samples) == pytest.approx(14 / 3)
    assert mean(samples, 0.5, 1.5) == 3.0 and mean(samples, 2, 3) == 8.0
    assert mean(samples, 0.25, 0.75) == 4.0
    for begin, end in ((1, 4), (-1, 2), (2, 1)):
        with pytest.raises(NoStatistics, match="3 samples"):
            mean(samples, begin, end)


@given(st.lists(st.floats(0, 100), min_size=2))
def test_the_deviation_of_latencies_is_that_of_their_sums(latencies):
    """L75."""
    found = deviation(sum(latencies), sum(one * one for one in latencies), len(latencies))
    assert found == pytest.approx(statistics.pstdev(latencies), abs=1e-4)
    assert deviation(0.0, 0.0, 0.0) == 0.0


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda s: s.copy("cost"), "no statistics of 'cost'\n    allowed: rate"),
        (lambda s: s.sample("rate", {"x": 1.0}), "there is no 'x'\n    allowed: s"),
        (lambda s: s.copy("rate", ["x"]), "there is no 'x'"),
        (lambda s: s.end("rate", ["x"]), "there is no 'x'"),
        (lambda s: s.add("rate", 1.0, 5), "each kind once"),
        (lambda s: s.add("cost", 0.0, 5), "longer than 0"),
    ],
)
def test_what_there_is_not(wrong, words):
    """L75."""
    found = Statistics()
    found.add("rate", 1.0, 5)
    found.begin("rate", ["s"])
    with pytest.raises(NoStatistics, match=words):
        wrong(found)


def test_resampling_on_another_grid():
    """L76: asked for (7.5, 1.5, 20), stored (10, 2, 5): (9, 1.5, 8)."""
    found = filled().resampled(7.5, 1.5, 20)
    assert (found.begin, found.precision, found.window) == (9.0, 1.5, 8)
    # Oldest first: [9, 10.5) covers only the first sample, which is 1; [10.5, 12) too; [12, 13.5) the second; [13.5, 15) a third of it, and so on.
    expected = [1, 1, 2, (0.5 * 2 + 1 * 3) / 1.5, (1 * 3 + 0.5 * 4) / 1.5, 4, 5, 5]
    assert found.of("s")[::-1] == pytest.approx(expected)


def test_what_is_covered_is_given_exactly():
    """L76."""
    assert filled().resampled() == filled()
    assert filled().resampled(12.0, 2.0, 2).of("s") == (3.0, 2.0)
    assert filled().resampled(10.0, 10.0, 1).of("s") == (3.0,)
    assert filled().resampled(100.0, 1.0, 5).window == 0, "nothing of it is there"


@given(st.lists(st.floats(0, 10), min_size=1, max_size=8), st.floats(0.3, 5), st.floats(0, 30))
def test_no_value_is_outside_of_what_was_sampled(values, precision, begin):
    """L76."""
    found = filled(values).resampled(begin, precision, 12)
    assert all(min(values) - 1e-6 <= one <= max(values) + 1e-6 for one in found.of("s"))
    assert found.window * found.precision <= 2 * len(values) + 2 * precision + 1e-6


def test_readers_never_see_half_of_an_update():
    """L77: each sample is the same for all objects of a kind."""
    found = Statistics()
    found.add("rate", 1.0, 50)
    found.begin("rate", [f"s{n}" for n in range(20)])
    torn, done = [], threading.Event()

    def read() -> None:
        while not done.is_set():
            series = found.copy("rate")
            if len(set(series.samples.values())) != 1 or series.end != series.of("s0")[0]:
                torn.append(series)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for one in readers:
        one.start()
    for number in range(1, 2000):
        found.sample("rate", {f"s{n}": float(number) for n in range(20)})
    done.set()
    for one in readers:
        one.join()
    assert not torn and found.copy("rate").of("s3")[:2] == (1999.0, 1998.0)


def test_averages_that_forget():
    one = Average(0.5)
    for sample in (8.0, 4.0, 4.0):
        one = one.with_sample(sample)
    assert one.value == 5.0
    slow = Average()
    for _ in range(400):
        slow = slow.with_sample(1.0) if slow.value is not None else slow.with_sample(0.0)
    assert slow.value is not None and math.isclose(slow.value, 1 - 0.98**399)
    with pytest.raises(NoStatistics, match="weight of 2"):
        Average(2.0)
