"""Schedules of failures, as people write them."""

from __future__ import annotations

import pytest

from auroral.sim.faults import Fault, WrongSchedule, parse, text


def test_a_schedule_reads_as_it_is_written():
    given = parse("at 20s heal n1-n3 # both ways\n\nat 3s cut n1-n3; at 2.5s crash n2", ["n1", "n2", "n3"])
    assert given == (Fault(2.5, "crash", ("n2",)), Fault(3, "cut", ("n1", "n3")), Fault(20, "heal", ("n1", "n3")))
    assert parse(text(given)) == given
    assert text(given) == "at 2.5s crash n2; at 3s cut n1-n3; at 20s heal n1-n3"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("at 3 cut n1", r"line 1: 'at 3 cut n1' is not like 'at 3s cut n1-n3'; allowed: cut, heal, crash"),
        ("at 3s burn n1", r"there is no 'burn'; allowed: cut"),
        ("at 3s crash n1-n2", r"crash takes 1 places, not 2"),
        ("\nat 3s cut n1-n9", r"line 2: there is no n9; there are n1, n2"),
    ],
)
def test_what_cannot_be_read_is_said(line, told):
    with pytest.raises(WrongSchedule, match=told):
        parse(line, ["n1", "n2"])
