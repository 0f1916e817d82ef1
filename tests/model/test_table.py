"""The generated table has a row for every box type, made of what the types state about themselves."""

from dataclasses import fields

from auroral.model import box_table
from auroral.model.boxes.base import BoxFacts
from auroral.model.boxes.later import LATER
from auroral.model.boxes.table import RUNNING


def rows() -> dict[str, list[str]]:
    """First cell of each row of the tables, and the others."""
    cells = [line.strip("|").split(" | ") for line in box_table().splitlines() if line.startswith("| ")]
    return {first.strip(): [cell.strip() for cell in rest] for first, *rest in cells}


def test_every_running_box_has_a_row_of_its_facts():
    table = rows()
    for box in RUNNING:
        said = [getattr(box.facts, field.name) for field in fields(BoxFacts)]
        words = ["yes" if fact is True else "no" if fact is False else fact for fact in said]
        assert table[box.type] == words


def test_every_later_box_has_a_row_with_its_reason():
    table = rows()
    for name, reason in LATER.items():
        assert table[name] == [reason.why, reason.instead]


def test_no_box_is_both_and_none_is_forgotten():
    running = [box.type for box in RUNNING]
    assert len(set(running)) == len(running)
    assert not set(running) & set(LATER)
    wanted = "filter map union aggregate join bsort wsort waitfor resample xsection combine lrwaitfor apply delay random_drop window_drop sunion soutput"
    wanted += " insert select update delete exists changes lock unlock revisable settled revision update_queue"
    assert running == wanted.split()


def test_no_fact_is_empty_or_breaks_the_table():
    lines = [line for line in box_table().splitlines() if line.startswith("|")]
    assert {line.count("|") for line in lines} == {len(fields(BoxFacts)) + 2, 4}
    for box in RUNNING:
        assert all(getattr(box.facts, field.name) != "" for field in fields(BoxFacts))


def test_d12_operator_classes_of_every_box():
    """Deterministic, convergent, repeatable: what a node may do after a failure rests on these."""
    expected = {
        "filter": ("yes", "yes", "yes"),
        "map": ("yes", "yes", "yes"),
        "union": ("yes", "yes", "yes"),
        "aggregate": ("yes", "yes; folds no", "no"),
        "join": ("yes", "yes; folds no", "yes; folds no"),
        "bsort": ("yes", "no", "no"),
        "wsort": ("yes", "no", "no"),
        "waitfor": ("yes", "yes", "no"),
        "resample": ("yes", "yes", "no"),
        "xsection": ("yes", "no", "no"),
        "combine": ("yes", "no", "no"),
        "lrwaitfor": ("yes", "no", "no"),
        "apply": ("yes", "yes", "no"),
        "delay": ("yes", "yes", "yes"),
        "random_drop": ("yes", "yes", "yes"),
        "window_drop": ("yes", "yes; folds no", "yes; folds no"),
        "sunion": ("yes", "yes", "yes"),
        "soutput": ("yes", "yes", "yes"),
        "insert": ("yes", "no", "no"),
        "select": ("yes", "no", "no"),
        "update": ("yes", "no", "no"),
        "delete": ("yes", "no", "no"),
        "exists": ("yes", "no", "no"),
        "changes": ("yes", "no", "no"),
        "lock": ("yes", "no", "no"),
        "unlock": ("yes", "no", "no"),
        "revisable": ("yes", "yes", "no"),
        "settled": ("yes", "yes", "no"),
        "revision": ("yes", "yes", "no"),
        "update_queue": ("yes", "yes", "no"),
    }
    names, table = [field.name for field in fields(BoxFacts)], rows()
    at = [names.index(name) for name in ("deterministic", "convergent", "repeatable")]
    found = {box.type: tuple(table[box.type][i] for i in at) for box in RUNNING}
    assert found == expected
    # Each class is part of the one before it.
    assert all(convergent == repeatable or repeatable == "no" for _, convergent, repeatable in found.values())
