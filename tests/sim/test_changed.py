"""A user's diagram is changed to another one while it runs and nodes fail (X9, L58)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import auroral
from auroral.sim import under_failures
from auroral.sim.fragments import CannotBeSimulated

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
CALLS = [{"ts": NOON + timedelta(seconds=second), "ms": 100.0} for second in range(60)]
DEPLOYED = """<deploy>
  <replica_set name="front" query="merge"><node endpoint=":15000"/><node endpoint=":15100"/></replica_set>
  <replica_set name="back" query="count"><node endpoint=":15200"/><node endpoint=":15300"/></replica_set>
</deploy>"""


def calls(
    window: str = "5s", *, all_three: bool = False, output: str = "counts", bucket: str = "1s"
) -> auroral.DiagramBuilder:
    found = auroral.diagram("watch", bucket=bucket)
    east, west, north = (found.input(name, "ts timestamp, ms double", stime="ts") for name in ("east", "west", "north"))
    with found.query("merge"):
        both = east.union("both", west, north) if all_three else east.union("both", west)
    with found.query("count"):
        both.aggregate(output, {"calls": "count()"}, window=window).output()
    return found


def tried(changed: auroral.DiagramBuilder, schedule: str, **options: object):
    rows = dict.fromkeys(("east", "west", "north"), CALLS)
    return under_failures(calls(), rows, schedule, bound="6s", deployment=DEPLOYED, changed=changed, **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    "schedule",
    [
        "at 10s change front",
        "at 10s change front; at 10.1s crash fronta; at 15s restart fronta",
        "at 10s silence north; at 12s change front; at 25s resume north",
        "at 10s change front; at 20s destroy fronta; at 22s restart fronta; at 25s move frontb-frontc",
    ],
)
def test_one_more_input_is_read_from_some_bucket_on(schedule):
    found = tried(calls(all_three=True), schedule)
    assert found.ok, found.violations
    counts = [row["calls"] for row in found.rows("counts")]
    assert counts[0] == 10 and counts[-1] == 15 and sorted(counts) == counts
    assert len([count for count in counts if 10 < count < 15]) <= 1, "one window is of both versions"


@pytest.mark.slow
def test_a_window_becomes_longer():
    found = tried(calls("10s"), "at 10s change back; at 12s crash backa-backb; at 16s restart backa-backb")
    assert found.ok, found.violations
    counts = [row["calls"] for row in found.rows("counts")]
    assert set(counts) == {10, 20} and sorted(counts) == counts, "each is whole"


@pytest.mark.slow
def test_without_another_diagram_each_version_computes_the_same():
    rows = dict.fromkeys(("east", "west"), CALLS)
    found = under_failures(calls(), rows, "at 10s change front", bound="6s", deployment=DEPLOYED)
    assert found.ok and {row["calls"] for row in found.rows("counts")} == {10}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (calls(output="others"), "would give other streams"),
        (calls(bucket="500ms"), "its buckets are of 500000"),
    ],
)
def test_what_it_cannot_be_changed_to_is_told(changed, told):
    with pytest.raises(CannotBeSimulated, match=told):
        tried(changed, "at 10s change front")


def test_other_outputs_are_told():
    found = auroral.diagram("watch", bucket="1s")
    east, west, _ = (found.input(name, "ts timestamp, ms double", stime="ts") for name in ("east", "west", "north"))
    with found.query("merge"):
        both = east.union("both", west).output()
    with found.query("count"):
        both.aggregate("counts", {"calls": "count()"}, window="5s").output()
    with pytest.raises(CannotBeSimulated, match="the client would read both, counts, and reads counts"):
        tried(found, "at 10s change front")


def test_other_inputs_are_told():
    found = auroral.diagram("watch", bucket="1s")
    east = found.input("east", "ts timestamp, ms double", stime="ts")
    with found.query("merge"):
        both = east.filter("both", "ms > 0.0")
    with found.query("count"):
        both.aggregate("counts", {"calls": "count()"}, window="5s").output()
    with pytest.raises(CannotBeSimulated, match="it has other inputs"):
        tried(found, "at 10s change front")
