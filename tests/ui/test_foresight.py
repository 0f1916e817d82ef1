"""What is foreseen of processes that are away, links that are cut and sources that are silent."""

from __future__ import annotations

from typing import Any

import auroral
from auroral.demo import scans
from auroral.dpc.fragments import cut
from auroral.model.builder import DiagramBuilder
from auroral.model.deployment_text import read_deployment_text
from auroral.ui.controls.foresight import Given, Level, World, foresee
from ui.standins import SETS, SITES


def world(builder: DiagramBuilder, sets: str | None, **wrong: Any) -> World:
    fragments = cut(builder.check(), None if sets is None else read_deployment_text(sets, "deploy.yaml"), 2)
    queries = [(fragment, fragment.hosts) for fragment in fragments.all]
    return World(fragments.sources, queries, fragments.client, **{k: frozenset(v) for k, v in wrong.items()})


def alerts(**wrong: Any) -> Given:
    return foresee(world(scans, SETS, **wrong)).outputs["alerts"]


def between(*pairs: str) -> list[frozenset[str]]:
    return [frozenset(pair.split()) for pair in pairs]


def test_all_is_well() -> None:
    assert alerts() == Given(Level.STABLE, frozenset(), "watcha")


def test_of_two_replicas_one_is_enough() -> None:
    assert alerts(dead=["watcha"]) == Given(Level.STABLE, frozenset(), "watchb")
    assert alerts(dead=["mergea", "watchb"]) == Given(Level.STABLE, frozenset(), "watcha")
    assert alerts(dead=["mergea", "mergeb"]).level is Level.NOTHING
    assert alerts(dead=["watcha", "watchb"]).level is Level.NOTHING


def test_who_reads_goes_over_to_a_replica_that_has_all() -> None:
    assert alerts(cut=between("lima mergea")) == Given(Level.STABLE, frozenset(), "watcha")
    both = between("lima mergea", "lima mergeb")
    assert alerts(cut=both) == Given(Level.TENTATIVE, frozenset({"lima"}), "watcha")
    # What one of them has, the other one lacks, and its reader does not reach it.
    across = between("lima mergea", "mergeb watcha")
    found = foresee(world(scans, SETS, cut=across))
    assert found.replicas["alerts", "watcha"].level is Level.TENTATIVE
    assert found.outputs["alerts"] == Given(Level.STABLE, frozenset(), "watchb")


def test_a_silent_source_and_a_dead_one_are_the_same_to_who_reads() -> None:
    expected = Given(Level.TENTATIVE, frozenset({"lima"}), "watcha")
    assert alerts(silent=["lima"]) == alerts(dead=["lima"]) == expected
    assert alerts(silent=["lima", "oslo"]).without == {"lima", "oslo"}


def test_without_any_of_a_unions_inputs_there_is_nothing() -> None:
    assert alerts(dead=SITES).level is Level.NOTHING


def test_a_client_that_is_cut_off_gets_nothing() -> None:
    assert alerts(cut=between("watcha client")).giver == "watchb"
    assert alerts(cut=between("watcha client", "watchb client")).level is Level.NOTHING


def test_a_join_cannot_do_without_either_side() -> None:
    d = auroral.diagram("d", bucket="1s")
    left, right = (d.input(name, "k int, n int") for name in ("left", "right"))
    left.join("both", right, on="left.k = right.k", within="1s").output(availability="9s")
    assert foresee(world(d, None)).outputs["both"].level is Level.STABLE
    assert foresee(world(d, None, silent=["left"])).outputs["both"].level is Level.NOTHING


def test_what_has_no_bound_waits_and_is_never_tentative() -> None:
    assert alerts(silent=["lima"], unbounded=["alerts"]).level is Level.NOTHING
    assert alerts(silent=["lima"], unbounded=["connections", "alerts"]).level is Level.NOTHING
    assert alerts(dead=["watcha"], unbounded=["connections", "alerts"]).level is Level.STABLE
