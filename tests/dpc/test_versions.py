"""Which version of a query a bucket is computed by (X9, L58)."""

from __future__ import annotations

from auroral.dpc.settings import UNLIMITED
from auroral.dpc.versions import Plan


def test_each_version_holds_from_its_bucket_on():
    plan = Plan((0, 5, 9))
    assert [plan.version(bucket) for bucket in (0, 4, 5, 8, 9, 50)] == [0, 0, 1, 1, 2, 2]
    assert [plan.end(bucket) for bucket in (0, 4, 5, 8, 9)] == [5, 5, 9, 9, UNLIMITED]
    assert plan.next_version == 3


def test_what_is_promised_limits_what_is_made_stable():
    assert (Plan((0,), 7, 2).limit, Plan((0, 5), None, 2).limit) == (7, UNLIMITED)
    assert Plan() == Plan((0,), None, 0)
