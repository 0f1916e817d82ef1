"""Times and limits that follow from the settings (D26, D43, D69-D72)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from auroral.dpc.settings import UNLIMITED, WORTH_DELAYING, Policy, Settings, WhenFull, WrongSettings

SETTINGS = Settings(bucket=0.5, bound=3.0)


def test_what_holds_where_nothing_is_said():
    """Hole 8: values that the thesis leaves open, P3 among them."""
    assert Settings(
        bucket=0.5,
        bound=3.0,
        ping_every=0.1,
        pings_unanswered=3,
        hop=0.02,
        while_failing=Policy.PROCESS,
        while_correcting=Policy.PROCESS,
        share=None,
        long_replay=10.0,
        most_kept=None,
        when_full=WhenFull.LOSE,
        snapshot_every=20,
    ) == Settings(0.5, 3.0)
    assert WORTH_DELAYING == 10


def test_a_failure_is_noticed_by_silence_or_by_heartbeats_whichever_takes_longer():
    """D26, D27: more than three heartbeats in a tenth of a second each, or two buckets."""
    assert (SETTINGS.detection, replace(SETTINGS, bucket=0.1).detection) == (1.0, 0.4)
    assert SETTINGS.failover == pytest.approx(0.4 + 2 * 0.02)
    assert (SETTINGS.oldest, replace(SETTINGS, bound=float("inf")).oldest) == (2.0, 0.0)


def test_more_than_half_of_the_bound_is_too_late_to_notice_a_failure():
    """D43."""
    with pytest.raises(WrongSettings):
        Settings(bucket=0.75, bound=2.9)
    assert Settings(bucket=0.75, bound=3.0).detection == 1.5


def test_a_limit_loses_or_blocks():
    """D71, D72."""
    losing, blocking = replace(SETTINGS, most_kept=4), replace(SETTINGS, most_kept=4, when_full=WhenFull.BLOCK)
    limits = [(each.lost_beyond, each.blocked_beyond) for each in (SETTINGS, losing, blocking)]
    assert limits == [(UNLIMITED, UNLIMITED), (4, UNLIMITED), (UNLIMITED, 4)]
    assert UNLIMITED > 10**15, "more than all buckets there will be"
