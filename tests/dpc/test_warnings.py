"""What people should know of before anything fails."""

from __future__ import annotations

import pytest

from auroral.dpc.sunion import SUnion
from auroral.dpc.usual import Offsets
from auroral.dpc.values import Ack
from auroral.dpc.warnings import Warnings, warnings
from dpc.test_replica import replica


def union() -> SUnion:
    return replica().unions["o"]


def test_a_bound_that_is_too_short_is_said_when_it_becomes_so():
    found = union()
    # A message takes 0.02 s, another replica 0.44 s, and a failure is noticed after 1 s.
    found.usual_job.learn(1.53)
    found.outlet.readers_expected = ("r",)
    said, short = Warnings({"o": found}), ["bound too short"]
    for reserve, expected in ((0.0, []), (0.02, short), (0.03, []), (0.0, []), (0.02, short)):
        found.outlet.acknowledged("r", Ack(0, reserve))
        assert [report.kind for report in said.new()] == expected
    (report,) = warnings(found)
    assert (report.stream, report.detail) == (
        "o",
        "the bound is 3 s; a failure is noticed after 1 s, and from here to the last outputs 2.01 s are needed, 1.53 s of them for a job of "
        "this node",
    )


@pytest.mark.parametrize(("offset", "kinds"), [(0.75, []), (0.76, ["inputs far apart"])])
def test_an_offset_above_a_quarter_of_the_bound_is_said(offset, kinds):
    found = union()
    for bucket in range(3):
        assert not list(warnings(found)), "too little is known"
        found.offsets.learn({"s": 0.5 * bucket, "t": 0.5 * bucket + offset})
    assert [report.kind for report in warnings(found)] == kinds


def test_who_warns_of_an_offset_names_the_input():
    found = union()
    for bucket in range(3):
        found.offsets.learn({"s": 0.5 * bucket + 1.25, "t": 0.5 * bucket})
    (report,) = warnings(found)
    assert report.detail == (
        "s usually comes 1.25 s after the first input, which is more than a quarter of the bound of 3 s; is its clock right?"
    )


def test_offsets_are_of_buckets_that_came_on_all_inputs():
    found = Offsets("stv")
    for bucket in range(2):
        found.learn({"s": bucket, "t": bucket + 2.0, "v": bucket + 0.5})
    found.learn({"s": 2.0, "t": 4.0})
    assert found.latest[1] == 0.0 and found.after["s"] == 0.0
    found.learn({"s": 3.0, "t": 5.0, "v": 3.5})
    assert found.latest == ("t", 2.0)
    assert [found.after[name] for name in "stv"] == [2.0, 0.0, 1.5]


def test_an_input_that_always_comes_later_than_a_failure_is_noticed_is_waited_for():
    """Deadlines count from when all inputs usually have a bucket."""
    found = union()
    times = {bucket: {"s": 0.5 * bucket, "t": 0.5 * bucket + 1.5} for bucket in range(4)}
    for bucket, came in times.items():
        for name, at in came.items():
            found.ports[name].origin[bucket] = found.ports[name].arrived[bucket] = at
    before = found.ready_at(3)
    for bucket in range(3):
        found.processing = True
        found.learn(bucket, times[bucket]["t"])
    assert (before, found.ready_at(3)) == (1.5, 3.0)
    found.ports["t"].arrived[3] += 0.1
    found.learn(3, 3.1)
    assert len(found.offsets.usual["t"].times) == 3, "it was held back before it came here"
