"""The thesis' measures, on a small trace (D82)."""

from __future__ import annotations

import pytest

from auroral.dpc.events import Deliver, Miss, Received, Woken
from auroral.dpc.metrics import WINDOW, Measured, Metrics, StreamMetrics, together
from auroral.dpc.values import Content, Release


def metrics(*trace: tuple[float, str, int, int, bool]) -> Metrics:
    """Of deliveries: when, from whom, which bucket, how many rows, stable or not. Buckets last a second."""
    found = Metrics(1.0)
    for now, sender, bucket, count, stable in trace:
        found.saw(now, Received(sender, Release()), [Deliver("o", bucket, Content(bucket, count), stable)])
    return found


FAILURE = (
    (1.1, "a", 0, 5, True),
    (2.1, "a", 1, 5, True),
    (6.0, "b", 2, 3, False),
    (6.1, "b", 3, 3, False),
    (6.2, "b", 4, 2, False),
    (7.0, "a", 2, 5, True),
    (7.5, "a", 3, 5, True),
    (8.0, "a", 4, 5, True),
    (8.1, "a", 5, 5, True),
)


def test_times_are_of_what_is_new():
    """A correction is late by nature."""
    found = metrics(*FAILURE).streams["o"].measured
    assert found.proc_new == pytest.approx(3.0)
    assert found.proc == pytest.approx(0.1)
    assert found.delay_new == pytest.approx(2.9)


def test_correcting_lasts_until_nothing_is_left_to_correct():
    found = metrics(*FAILURE).streams["o"].measured
    assert (found.correcting, found.corrected_at) == ((1.0,), 8.0)
    unfinished = metrics(*FAILURE[:-2]).streams["o"].measured
    assert (unfinished.correcting, unfinished.corrected_at) == ((), 0.0)


def test_a_reconciliation_begins_when_all_inputs_are_there_again():
    found = metrics(*FAILURE).streams["o"].measured
    assert found.reconciliation(healed=6.5) == pytest.approx(1.5)
    assert found.reconciliation(healed=9.0) == 0
    assert metrics(*FAILURE[:2]).diagram.reconciliation(healed=1.0) == 0


def test_what_was_passed_over_is_waited_for_until_something_newer_comes():
    passed = (*FAILURE[:2], (6.0, "b", 4, 3, False))
    assert metrics(*passed).diagram.proc_new == pytest.approx(6.0 - 3.0)
    # Who begins in the middle waited for nothing before it.
    assert metrics((101.2, "a", 100, 3, True)).diagram.proc_new == pytest.approx(0.2)


def test_nobody_waits_for_what_is_in_a_gap():
    found = metrics(*FAILURE[:2])
    found.saw(3.0, Woken(), [Miss("o", 2, 5)])
    found.saw(6.3, Woken(), [Deliver("o", 5, Content(5, 1), True)])
    assert found.diagram.proc_new == pytest.approx(0.3)


def test_a_gap_before_what_came_makes_nothing_new_again():
    found = metrics(*FAILURE[:5])
    found.saw(7.0, Woken(), [Miss("o", 2, 3)])
    found.saw(60.0, Received("a", Release()), [Deliver("o", 4, Content(4, 5), True)])
    assert found.diagram.proc_new == metrics(*FAILURE[:5]).diagram.proc_new


def test_a_long_run_is_measured_in_a_bounded_memory(bytes_held):
    found, held = Metrics(1.0), []
    for bucket in range(3 * WINDOW):
        guess = (bucket + 1.5, "a", bucket, 3, False)
        for now, sender, number, count, stable in (guess, (bucket + 1.7, "a", bucket, 5, True)):
            found.saw(now, Received(sender, Release()), [Deliver("o", number, Content(number, count), stable)])
        if bucket + 1 in (2 * WINDOW, 3 * WINDOW):
            held.append(bytes_held("*/dpc/metrics.py"))
    measured = found.diagram
    assert (measured.tentative_buckets, len(measured.correcting), measured.n_tentative_now) == (3 * WINDOW, WINDOW, 0)
    assert held[1] < 1.05 * held[0]


def test_tentative_rows_are_counted_and_counted_down():
    found = metrics(*FAILURE[:6]).streams["o"].measured
    assert (found.tentative_buckets, found.n_tentative, found.n_tentative_now) == (3, 8, 5)
    assert metrics(*FAILURE).streams["o"].measured.n_tentative_now == 0


def test_the_gap_of_a_failover_is_what_passes_until_another_replica_gives_something_new():
    assert metrics(*FAILURE).streams["o"].measured.failover_gap == pytest.approx(6.0 - 2.1 - 1.0)
    alone = [(at, "a", bucket, count, stable) for at, _, bucket, count, stable in FAILURE]
    assert metrics(*alone).streams["o"].measured.failover_gap == 0


def test_what_is_missed_is_not_corrected_any_more():
    found = metrics(*FAILURE[:5])
    found.saw(9.0, Woken(), [Miss("o", 2, 5)])
    measured = found.streams["o"].measured
    assert (measured.missed, measured.n_tentative_now) == (3, 0)


def test_a_diagram_has_the_counts_of_all_and_the_worst_of_the_times():
    found = metrics(*FAILURE)
    found.saw(9.9, Woken(), [Deliver("p", 0, Content(0, 7), False)])
    assert (found.diagram.n_tentative, found.diagram.tentative_buckets) == (15, 4)
    assert found.diagram.proc_new == pytest.approx(8.9)


def test_nothing_has_been_measured_yet():
    assert Metrics(1.0).diagram == Measured()
    assert StreamMetrics(1.0).measured == Measured()


def test_only_what_is_missed_counts_as_such():
    """A bucket behind the gap is still to be corrected, and one before it is."""
    found = metrics(*FAILURE[:5])
    found.saw(9.0, Woken(), [Miss("o", 3, 4)])
    stream = found.streams["o"]
    assert (stream.measured.missed, set(stream.uncorrected)) == (1, {2, 4})
    found.saw(9.5, Woken(), [Deliver("o", 2, Content(2, 5), True)])
    found.saw(10.0, Woken(), [Deliver("o", 4, Content(4, 5), True)])
    assert stream.measured.correcting == (1.0,), "from the gap on, which ends a part of it"
    found.saw(11.0, Woken(), [Deliver("o", 5, Content(5, 1), False)])
    found.saw(11.5, Woken(), [Deliver("o", 5, Content(5, 5), True)])
    assert stream.measured.correcting == (1.0, 0.0), "the next begins with its own first correction"


def test_a_diagram_is_as_slow_as_its_slowest_output():
    slow = Measured(5.0, 2.0, 1, 2, 3, (1.0,), 7.0, 0.5, 4)
    quick = Measured(4.0, 3.0, 10, 20, 30, (2.0, 3.0), 6.0, 0.25, 40)
    assert together([slow, quick]) == Measured(5.0, 3.0, 11, 22, 33, (1.0, 2.0, 3.0), 7.0, 0.5, 44)
    assert (slow.delay_new, Measured(1.0, 2.0).delay_new) == (3.0, 0.0)


def test_the_longest_of_two_failovers_counts():
    found = metrics((1.1, "a", 0, 1, True), (5.1, "b", 1, 1, True), (7.1, "a", 2, 1, True), (8.1, "a", 2, 1, True))
    assert found.streams["o"].measured.failover_gap == pytest.approx(3.0)
    latencies = [one.latency for one in found.streams["o"].new]
    assert latencies == pytest.approx([0.1, 3.1, 4.1]), "the same bucket is new once"


def test_buckets_may_be_shorter_than_a_second():
    found = Metrics(0.5)
    for now, sender, bucket in ((2.25, "a", 3), (4.0, "b", 4)):
        found.saw(now, Received(sender, Release()), [Deliver("o", bucket, Content(bucket, 1), True)])
    assert [one.latency for one in found.streams["o"].new] == [0.25, 1.5]
    assert found.streams["o"].measured.failover_gap == 4.0 - 2.25 - 0.5
