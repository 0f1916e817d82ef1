"""When a bucket must not be waited for any longer (D37)."""

from __future__ import annotations

from auroral.dpc.events import Evaluated, Woken
from auroral.dpc.values import Content
from dpc.test_replica import SETTINGS, given, jobs, replica


def test_a_deadline_does_not_depend_on_which_input_fails():
    """T is usually 0.3 s later than S: when only T comes, the bucket is as late already."""
    first = {"s": 0.0, "t": 0.3}
    for missing, there in (("t", "s"), ("s", "t")):
        found = replica()
        for bucket in range(3):
            given(found, "s", bucket, bucket * 0.5 + 0.5)
            (job,) = jobs(given(found, "t", bucket, bucket * 0.5 + 0.8))
            found.handle(Evaluated(job.job, {"o": (Content(9, 1),)}), bucket * 0.5 + 0.8)
        given(found, there, 3, 2.0 + first[there])
        due = found.unions["o"].next_deadline(2.5)
        assert round(due, 3) == round(2.3 + SETTINGS.bound - SETTINGS.hop, 3), f"without {missing}"
        assert not jobs(found.handle(Woken(), due - 0.01))
        assert jobs(found.handle(Woken(), due))
