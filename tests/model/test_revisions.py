"""What may stand behind an input whose rows may be revised, and what is said where it may not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import auroral
from auroral.model.boxes.revision import Revision
from auroral.model.builder import DiagramBuilder
from auroral.model.errors import DiagramError
from auroral.model.expression import Functions
from auroral.model.expression.functions import make_function
from auroral.model.xml import read_diagram
from engine.revising import diagram, in_mode


def watch(**options: Any) -> tuple[DiagramBuilder, Any]:
    made = auroral.diagram("watch")
    return made, made.input("s", "k int, x double", **{"revisions": "1min", "key": ["k"], **options})


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (lambda s: s.running("r", {"n": "count()"}), "depends on all of the past"),
        (lambda s: s.drop("d", 0.5), "could not take back"),
        (lambda s: s.apply("a", lambda frame: frame, schema="k int"), "could not take back"),
        (lambda s: s.join("j", s, on="left.k = right.k", within="1s", how="left"), "could not take back"),
        (lambda s: s.join("j", s, on="left.k = right.k", rows=3), "could not take back"),
        (lambda s: s.union("u", s.builder.input("p", "k int, x double, revised_value string")), "never revised"),
        (lambda s: s.map("m", {"revised_value": "'delete 5'"}), "marks what a row revises"),
        (lambda s: s.aggregate("w", {"n": "count()"}, window="1s", by=["revised_value"]), "'revised_value' is what"),
        (lambda s: s.settled("one").settled("two"), "are never revised"),
    ],
)
def test_a_box_that_takes_no_revisions_is_refused_with_what_to_do(step: Callable[[Any], object], said: str) -> None:
    made, s = watch()
    step(s)
    with pytest.raises(DiagramError, match=said) as refused:
        made.check()
    assert all(problem.next_step for problem in refused.value.problems)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"key": []}, "no field names a row"),
        ({"key": ["z"]}, "unknown field 'z'"),
        ({"key": ["revised_value"]}, "unknown field 'revised_value'"),
        ({"revisions": None}, "revisions are not allowed"),
        ({"stime": "k", "unit": "s", "late": "drop"}, "would be late themselves"),
    ],
)
def test_what_an_input_says_of_revisions(options: dict[str, Any], said: str) -> None:
    with pytest.raises(DiagramError, match=said):
        watch(**options)[0].check()


def test_the_mark_is_passed_on_by_itself() -> None:
    made, s = watch()
    s.map("m", {"twice": "x * 2"}).aggregate("w", {"n": "count()"}, window="1s").output()
    s.settled("f").running("r", {"n": "count()"}).output()
    streams = made.check().streams
    assert streams["m"].schema.names == ("twice", "revised_value")
    assert streams["w"].schema.names == ("n", "revised_value")
    assert streams["f"].schema.names == ("k", "x")


def test_errors_of_rows_that_are_revised_are_revised_too() -> None:
    """Nothing else would order them: all revisions of a bucket have one stime."""
    made, s = watch()
    functions = Functions().plus(make_function("inverse", lambda x: 1 / x, "double", "double"))
    errors = s.map("m", {"x": "inverse(x)"}, on_error="reject").errors()
    assert made.check(functions).streams[errors.name].kept == 60_000_000
    errors.running("r", {"n": "count()"})
    with pytest.raises(DiagramError, match="depends on all of the past"):
        made.check(functions)


def test_no_queue_stands_before_revisions() -> None:
    """Of a row and its revision in one bucket, it would let only the revision through, which then is about another row."""
    text = diagram(True).build().to_xml().replace("<borealis", '<borealis update_queue="1" queue_type="1" key="k"', 1)
    checked = auroral.check(read_diagram(text).diagram)
    idle = [warning for warning in checked.warnings if "rows may be revised" in warning.what]
    assert {str(one.place.element) for one in idle} >= {"box 'a.revised'", "box 'some'", "box 'means'"}
    queues = {c.box.name for c in checked.boxes if c.box.name.endswith(".queue.0")}
    assert queues == {"total.queue.0"}, "rows that are settled are rows like others"


@pytest.mark.parametrize("mode", [None, "UPSTREAM", "DOWNSTREAM"])
def test_a_file_says_the_same(mode: str | None) -> None:
    built = diagram(True).build() if mode is None else in_mode(diagram(True).build(), mode)
    again = read_diagram(built.to_xml()).diagram
    assert [box.spec for box in again.boxes] == [box.spec for box in built.boxes]
    assert any(isinstance(box.spec, Revision) for box in again.boxes) == (mode is not None)
    with pytest.raises(DiagramError, match="'revisable' is one of Auroral's"):
        built.to_xml(strict=True)
