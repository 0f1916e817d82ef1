"""What the page says of streams and replicas, from what processes say of themselves."""

from __future__ import annotations

from typing import Any

import pytest

from auroral.ui.conditions import Condition, arrival, arrival_at_client, input_flow, made_flow, replica
from auroral.ui.ledger import ledger
from auroral.ui.showing import Rates
from ui.standins import node, output, source


@pytest.mark.parametrize(
    ("said", "behind", "condition", "words"),
    [
        (None, None, "failed", "down"),
        ({"rows": 3}, None, "unknown", "starting"),
        (source(5), 1.0, "stable", ""),
        (source(5), None, "stable", ""),
        (source(5), 7.2, "silent", "for 7 s"),
        (source(5, silent=True), 0.0, "silent", "paused"),
        (source(5, paused=True), 0.0, "blocked", "full"),
        (source(5, failed="it has changed\n    next: mend it"), 0.0, "failed", "it has changed"),
        (source(5, ended=True), 99.0, "stable", "ended"),
    ],
)
def test_inputs(said: dict[str, Any] | None, behind: float | None, condition: str, words: str) -> None:
    found = input_flow(said, behind, patience=3.0)
    assert (found.condition, found.words) == (condition, words)


@pytest.mark.parametrize(
    ("states", "condition"),
    [
        (("STABLE", "STABLE"), "stable"),
        (("STABLE", "UP_FAILURE"), "stable"),
        (("UP_FAILURE", "STABILIZATION"), "tentative"),
        (("STABILIZATION", "RECOVERING"), "stabilising"),
        (("FAILURE", None), "blocked"),
        ((None, None), "failed"),
        ((), "unknown"),
    ],
)
def test_what_a_query_gives_is_as_its_best_replica(states: tuple[str | None, ...], condition: str) -> None:
    nodes = [f"n{n}" for n in range(len(states))] or ["elsewhere"]
    status = {
        name: None if state is None else node(sums=output("q", state, 4, {}))
        for name, state in zip(nodes, states, strict=False)
    }
    assert made_flow("sums", nodes, status).condition == condition


@pytest.mark.parametrize(
    ("state", "left", "condition", "words"),
    [
        ("STABLE", 0, "stable", ""),
        ("STABLE", 2, "stabilising", "2 tentative buckets"),
        ("UP_FAILURE", 1, "tentative", "1 tentative bucket"),
        (None, 3, "tentative", "3 tentative buckets"),
        (None, 0, "stable", ""),
    ],
)
def test_what_the_client_has_counts_for_an_output(state: str | None, left: int, condition: str, words: str) -> None:
    """Also where its replicas are on other machines."""
    status: dict[str, Any] = {"client": {"streams": {"sums": {"frontier": 7, "tentative_now": left}}}}
    if state is not None:
        status["na"] = node(sums=output("q", state, 9, {}))
    found = made_flow("sums", ["na"], status)
    assert (found.condition, found.words, found.frontier) == (condition, words, 7)


@pytest.mark.parametrize(
    ("condition", "misses", "arrives"),
    [
        ("stable", ([], []), "stable"),
        ("stable", (["east"], []), "stable"),
        ("stable", (["east"], ["east"]), "failed"),
        ("stable", (["west"], ["west"]), "stable"),
        ("tentative", (["east"],), "failed"),
        ("unknown", (["east"],), "failed"),
        ("silent", (["east"], ["east"]), "silent"),
        ("blocked", (["east"],), "blocked"),
        ("stable", (None, ["east"]), "failed"),
        ("stable", (None, None), "stable"),
    ],
)
def test_a_stream_that_none_of_its_readers_gets_does_not_arrive(
    condition: str, misses: tuple[list[str] | None, ...], arrives: str
) -> None:
    """As two nodes say that read it, of which one may be down."""
    reads = {"east": {}, "west": {"west@west": "both"}}
    status = {
        f"n{n}": None if one is None else node(a=output("q", "UP_FAILURE", 4, reads, misses=one))
        for n, one in enumerate(misses)
    }
    replicas = [replica("q", name, status) for name in status]
    assert arrival("east", Condition(condition), replicas) == arrives


def test_an_output_that_the_client_does_not_get_does_not_arrive() -> None:
    status: dict[str, Any] = {"client": {"streams": {"sums": {"misses": ["sums"]}, "rest": {"misses": []}, "new": {}}}}
    for stream, condition in {"sums": "failed", "rest": "stable", "new": "stable", "other": "stable"}.items():
        assert arrival_at_client(stream, Condition.STABLE, status) == condition
    assert arrival_at_client("sums", Condition.BLOCKED, status) == "blocked"


def test_replicas() -> None:
    reads = {"east": {"east@east": "both"}}
    well = node(a=output("q", "STABLE", 4, reads), b=output("q", "UP_FAILURE", 4, {}), c=output("p", "FAILURE", 4, {}))
    waits = node(a=output("q", "UP_FAILURE", 4, {}, waits_for="the catalog", misses=["west", "east"]))
    status = {"na": well, "nb": node(a=output("q", "RECOVERING", 4, {})), "nc": None, "nd": waits, "ne": node()}
    status["ne"] |= {"not_started": {"q@ne": "the disk is full\n    next: make room"}}
    found = {name: replica("q", name, status) for name in (*status, "elsewhere")}
    assert {name: (str(one.condition), one.words) for name, one in found.items()} == {
        "na": ("tentative", ""),
        "nb": ("stabilising", "recovering"),
        "nc": ("failed", "down"),
        "nd": ("tentative", "waits for the catalog; does not get east, west"),
        "ne": ("failed", "cannot start: the disk is full"),
        "elsewhere": ("unknown", "on another machine: look at it there"),
    }
    assert found["na"].reads == reads
    assert replica("p", "na", status).condition is Condition.BLOCKED


def test_the_ledger_has_every_count_and_nothing_where_there_is_none() -> None:
    status: dict[str, Any] = {
        "east": source(4, ledger={"late": 2, "refused": 1}),
        "na": node() | {"left_out": {"sums: ahead": 3}},
        "nb": node() | {"left_out": {"sums: ahead": 5}},
        "nc": None,
        "client": {"streams": {"sums": {"missed": 4, "tentative_let_go": 0}, "rest": {}}},
    }
    assert [(one["stream"], one["reason"], one["count"], one["of"]) for one in ledger(status)] == [
        ("east", "late", 2, "rows"),
        ("east", "refused", 1, "rows"),
        ("sums", "ahead", 5, "rows"),
        ("sums", "lost in a gap", 4, "buckets"),
    ]
    assert ledger({"east": source(4), "na": node(), "nb": None}) == []


def test_rates_go_over_the_last_seconds_and_begin_again_with_a_process() -> None:
    rates = Rates()
    assert rates.rate("s", 0, 0.0) is None
    assert rates.rate("s", 100, 1.0) == 100
    assert rates.rate("s", 150, 10.0) == 50 / 9
    assert rates.rate("s", 150, 20.0) == 0
    assert rates.rate("s", 10, 21.0) is None
    assert rates.rate("s", 30, 22.0) == 20
    assert rates.rate("s", None, 23.0) is None
