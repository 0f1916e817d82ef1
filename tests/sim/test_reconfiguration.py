"""A query is changed while it runs and nodes fail: every bucket is of one version, the same everywhere (X9, L58)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from auroral.sim.faults import WrongSchedule, parse
from auroral.sim.simulate import judged, observed, simulate
from sim.scenarios import chain, folded

pytestmark = pytest.mark.slow

SCHEDULES = {
    "no failure": "at 10s change w",
    "the first of a chain": "at 10s change u",
    "again and again": "at 10s change w; at 10.1s change w; at 12s change f; at 30s change w",
    "a replica is away when it is wanted": "at 8s crash wa; at 10s change w; at 16s restart wa",
    "a replica crashes when it has promised": "at 10s change w; at 10.02s crash wa; at 14s restart wa",
    "a replica is cut off from the catalog": "at 9s cut wa; at 10s change w; at 20s heal wa",
    "a replica is cut off when it has promised": "at 10s change w; at 10.012s cut catalog; at 15s heal catalog",
    "both replicas come back": "at 9.5s crash wa; at 10s change w; at 10.5s crash wb; at 12s restart wa; at 12.5s restart wb",
    "an input is away": "at 8s silence t; at 10s change w; at 18s resume t",
    "the catalog crashes when it has asked": "at 10s change w; at 10.01s crash catalog; at 13s restart catalog",
    "the catalog crashes when it has decided": "at 10s change w; at 10.03s crash catalog; at 18s restart catalog",
    "a replica moves afterwards": "at 10s change w; at 10.1s move wa-wc",
    "a replica has moved before": "at 10s move wa-wc; at 10.1s change w; at 10.2s move wb-wd; at 10.3s change w",
    "the new one crashes": "at 10s change w; at 10.1s move wa-wc; at 13s crash wc; at 16s restart wc; at 17s change w",
    "at the same moment": "at 10.1s change w; at 10.1s change w; at 10.1s change w",
    "nothing becomes stable between": "at 8s silence s; at 12s change w; at 12.5s change w; at 20s resume s",
    "everything is lost between": "at 10s change u; at 10.3s crash ua-ub-fa-fb-wa-wb; at 10.3s crash s-t; at 10.6s restart ua-ub; "
    "at 12s restart fa-fb-wa-wb; at 12s change u; at 20s restart s-t",
    "a replica comes back to where it was": "at 5s change w; at 10s move wa-wc; at 15s change w; at 22s move wc-wa",
    "a replica comes back when it has promised": "at 10s change w; at 10.012s crash catalog; at 16s crash wa-wb; at 17s restart wa-wb; "
    "at 30s restart catalog",
    "a replica that is far behind promises less": "at 6s cut fa-wa; at 6s cut fb-wa; at 6s cut c-wa; at 10s change w; at 14s heal fa-wa; "
    "at 14s heal fb-wa; at 14s heal c-wa",
    "one that missed it moves away": "at 9s crash wa; at 10s change f; at 11s crash fa; at 14s move wa-wc; at 25s restart fa-wa",
}


@pytest.mark.parametrize(
    ("name", "durable"),
    [*((name, "") for name in SCHEDULES), ("both replicas come back", "w"), ("the new one crashes", "w")],
)
def test_every_bucket_is_of_one_version(name, durable):
    run = observed(replace(chain("", seconds=45, durable=durable), faults=parse(SCHEDULES[name])))
    outcome = judged(run)
    assert not outcome.violations, str(outcome)
    changed = run.stage.layout.versions
    assert changed.keys() == {*run.stage.changes}
    calm = run.scenario.expected()
    for query, decision in changed.items():
        first = decision.starts[1]
        assert 10 < first < 80
        stream = f"{query}.out"
        assert run.expected[stream][first] != calm[stream][first], "another version gives something else"


def test_nobody_notices_a_change_where_nothing_fails():
    run = observed(replace(chain("", seconds=30), faults=parse("at 10s change u; at 12s change w")))
    assert (judged(run).violations, judged(run).tentative) == ((), 0)
    (start,) = run.stage.layout.decision("u").starts[1:]
    assert 20 <= start <= 10 / 0.5 + 10, "soon"


def test_answers_go_on_where_a_promise_holds_up_what_is_stable():
    """The catalog is gone when all have promised."""
    schedule = "at 10s change w; at 10.012s crash catalog; at 25s restart catalog"
    outcome = simulate(replace(chain("", seconds=50), faults=parse(schedule)))
    assert not outcome.violations, str(outcome)
    assert outcome.tentative > 10 and outcome.worst_delay < 1


def test_a_fold_goes_on_with_its_state():
    schedule = "at 10s change g; at 12s crash ga; at 15s restart ga; at 16s move gb-gc; at 20s change g"
    outcome = simulate(replace(folded("", seconds=50, durable="g"), faults=parse(schedule)))
    assert not outcome.violations, str(outcome)


def test_what_cannot_be_changed_is_told():
    for wrong in ("at 9s change s", "at 9s change wa", "at 9s change"):
        with pytest.raises(WrongSchedule):
            simulate(replace(chain("", seconds=30), faults=parse(wrong)))
