"""Faults drawn from the syntax of the protocol are found, and the page names those that are not."""

from __future__ import annotations

import ast

import pytest

from sim.ast_mutants import ROOT, cell, killed_by
from sim.survivors import WHY
from sim.syntax import drawn, mutants

COUNT, DRAWS = 40, (48,)
PAGE = (ROOT / "docs" / "mutants.md").read_text(encoding="utf-8")


def test_every_fault_is_python_and_has_a_name_of_its_own():
    found = mutants()
    assert len({str(one) for one in found}) == len(found) > 2_000
    for one in drawn(0, 200):
        ast.parse(one.text)
        assert one.before != one.after


def test_a_draw_is_the_same_again():
    assert drawn(0, COUNT) == drawn(0, COUNT)
    assert drawn(0, COUNT) != drawn(1, COUNT)


def test_the_page_names_the_survivors_of_its_draws_and_no_others():
    """`python tests/sim/ast_mutants.py --seed 48 --page docs/mutants.md` writes it; `sim.survivors` says why."""
    there = {str(one) for seed in DRAWS for one in drawn(seed, COUNT)} & WHY.keys()
    named = {line.rsplit(" | ", 1)[0].removeprefix("| ") for line in PAGE.splitlines() if line.startswith("| `")}
    assert named == {cell(name) for name in there}
    assert "not explained" not in PAGE


@pytest.mark.slow
@pytest.mark.parametrize("number", range(6))
def test_a_drawn_fault_is_found(number):
    one = [one for one in drawn(DRAWS[0], COUNT) if str(one) not in WHY][number]
    assert killed_by(one), f"nothing notices line {one.line} of {one}"
