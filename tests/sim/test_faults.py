"""Schedules of failures, as people write them."""

from __future__ import annotations

import pytest

from auroral.sim.faults import Fault, WrongSchedule, parse, text, with_their_ends
from auroral.sim.stage import Stage
from sim.scenarios import chain


def test_a_schedule_reads_as_it_is_written():
    given = parse("at 20s heal n1-n3 # both ways\n\nat 3s cut n1-n3; at 2.5s crash n2", ["n1", "n2", "n3"])
    assert given == (Fault(2.5, "crash", ("n2",)), Fault(3, "cut", ("n1", "n3")), Fault(20, "heal", ("n1", "n3")))
    assert parse(text(given)) == given
    assert text(given) == "at 2.5s crash n2; at 3s cut n1-n3; at 20s heal n1-n3"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("at 3 cut n1", r"line 1: 'at 3 cut n1' is not like 'at 3s cut n1-n3'; allowed: cut, isolate, slow"),
        ("at 3s burn n1", r"there is no 'burn'; allowed: cut"),
        ("at 3s silence n1-n2", r"silence takes 1 place, not 2"),
        ("at 3s slow n1", r"slow takes 2 places, not 1"),
        ("at 3s crash n1>n2", r"only 'cut a>b' and 'heal a>b' go one way"),
        ("\nat 3s cut n1-n9", r"line 2: there is no n9; there are n1, n2"),
    ],
)
def test_what_cannot_be_read_is_said(line, told):
    with pytest.raises(WrongSchedule, match=told):
        parse(line, ["n1", "n2"])


def test_one_way_and_many_places():
    given = parse("at 1s cut n1>n2; at 2s crash n1-n2-n3; at 3s heal n1>n2")
    assert given[0] == Fault(1, "cut", ("n1", "n2"), one_way=True)
    assert given[1] == Fault(2, "crash", ("n1", "n2", "n3"))
    assert parse(text(given)) == given


def test_each_fault_goes_with_what_ends_it():
    given = parse(
        "at 1s cut a; at 2s cut a-b; at 3s unplug a; at 4s heal a-b; at 5s reset a-b; at 6s heal a; at 7s restart a"
    )
    found = [[fault.verb for fault in one] for one in with_their_ends(given)]
    assert found == [["cut", "heal"], ["cut", "heal"], ["unplug", "restart"], ["reset"]]


def test_a_cut_heals_whichever_host_is_named_first():
    stage = Stage(chain("at 1s cut ua-fa; at 2s heal fa-ua", seconds=4))
    stage.world.run(3)
    assert not stage.world.network.cuts


def test_only_sources_fall_silent():
    with pytest.raises(WrongSchedule, match="ua is no source; there are s, t"):
        Stage(chain("at 1s silence ua"))


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("at 3s cut a-b; at 20s heal", "at 3s cut a-b; at 20s heal a-b"),
        ("at 3s cut a-b; at 4s cut c; at 20s heal", "at 3s cut a-b; at 4s cut c; at 20s heal a-b; at 20s heal c"),
        ("at 3s crash a-b; at 5s restart a; at 7s restart", "at 3s crash a-b; at 5s restart a; at 7s restart b"),
        ("at 3s crash a; at 4s unplug b; at 9s restart a-b", "at 3s crash a; at 4s unplug b; at 9s restart a-b"),
    ],
)
def test_what_ends_a_failure_may_be_said_for_all(given, meant):
    assert text(parse(given)) == meant


@pytest.mark.parametrize(
    "wrong",
    ["at 3s heal", "at 3s cut a; at 4s heal b", "at 3s isolate a-b; at 4s rejoin a", "at 3s cut a>b; at 4s heal b>a"],
)
def test_what_ends_nothing_is_refused(wrong):
    with pytest.raises(WrongSchedule, match="ends nothing"):
        parse(wrong)
