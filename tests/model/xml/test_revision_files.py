"""Files in the style of Borealis' own with revision boxes: a field `revised_value`, and nothing that says what may be revised, or for how long."""

from __future__ import annotations

import pytest

from auroral.model.boxes.revisable import Revisable
from auroral.model.checking import Checked, check
from auroral.model.diagram import Box, Diagram
from auroral.model.errors import DiagramError
from auroral.model.implied_revisions import USUALLY_KEPT, with_implied_revisions
from auroral.model.stream import StreamType
from auroral.model.types import LONG
from auroral.model.xml import read_diagram
from auroral.model.xml.same import same_diagram
from auroral.sim import under_failures
from engine.revision_file import DEPLOYMENT, FILE, TICK, ticks


def file(text: str = FILE) -> Diagram:
    return read_diagram(text, "prices.xml").diagram


def revisable(checked: Checked) -> dict[str, Box]:
    return {box.name: box for box in checked.diagram.boxes if isinstance(box.spec, Revisable)}


def test_it_runs_unchanged() -> None:
    checked = check(file()).runnable()
    made = revisable(checked)
    assert {name: box.inputs for name, box in made.items()} == {
        "ticks.revised": ("ticks",),
        "ticks.revised.sums": ("ticks",),
    }
    assert all(box.spec == Revisable(30_000_000, ()) for box in made.values()), "as the view at the anchor keeps it"
    where = {query.name: [box.name for box in query.boxes] for query in checked.diagram.queries}
    assert where["sieve"][0] == "ticks.revised" and where["sums"][0] == "ticks.revised.sums"
    said = [(warning.what.split(":")[0], bool(warning.next_step)) for warning in checked.warnings]
    assert ("windows begin at multiples of 5", True) in said
    assert ("output 'totals' is declared without 'revised_value', and rows have it", True) in said


def test_it_is_deployed_as_its_file_says() -> None:
    """Each query has its own box, so that no node needs what another one makes that the files know nothing of."""
    rows = [dict(zip(TICK, row.values, strict=True)) for row in ticks()[:60]]
    calm = under_failures(file(), {"ticks": rows}, deployment=DEPLOYMENT)
    assert calm.ok, calm.violations
    assert {str(row["revised_value"]).split()[0] for row in calm.rows("totals")} == {"None", "delete", "insert"}


def test_what_is_made_up_is_so_once_and_is_not_written() -> None:
    read = file()
    checked = check(read)
    made, _ = with_implied_revisions(read)
    assert made != read and with_implied_revisions(made) == (made, ())
    for diagram in (read, made):
        again = read_diagram(diagram.to_xml()).diagram
        assert same_diagram(again, diagram)
        assert check(again).streams == checked.streams
    assert "revisable" not in read.to_xml(strict=True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('<order field="time"/><range start="-30" end="0"/>', '<size value="100"/>'),
        ('<order field="time"/>', '<order field="volume"/>'),
        ('value="recent"', 'value="elsewhere"'),
    ],
)
def test_without_a_range_of_time_there_is_a_usual_one(old: str, new: str) -> None:
    checked = check(file(FILE.replace(old, new))).runnable()
    assert {box.spec for box in revisable(checked).values()} == {Revisable(USUALLY_KEPT, ())}
    assert [w.place.file for w in checked.warnings if "may be revised for 1min after" in w.what] == ["prices.xml"]


def test_a_range_may_be_on_the_stime_itself() -> None:
    on_stime = FILE.replace('field="time"/><range start="-30"', 'field="stime"/><range start="-7000000"')
    assert {box.spec for box in revisable(check(file(on_stime))).values()} == {Revisable(7_000_000, ())}


def test_a_plain_box_alone_at_the_input_takes_revisions_for_rows() -> None:
    raw = '<box name="raw" type="filter"><in stream="ticks"/><out stream="raw"/><parameter name="expression.0" value="true"/></box>'
    checked = check(file(FILE.replace("</borealis>", f"{raw}</borealis>")))
    (box,) = [box for box in checked.diagram.boxes if box.name == "raw"]
    assert box.inputs == ("ticks",)
    assert any("'raw' leads to no revision box" in warning.what for warning in checked.warnings)


def test_a_stream_of_another_diagram_has_marks_and_not_what_a_source_says() -> None:
    """As for a query over what was kept of one: its `delete STIME` is about a row with the same fields, not about the last one of that time."""
    read = file()
    known = {"ticks": StreamType(read.inputs[0].schema, order=(LONG,))}
    checked = check(read, known=known)
    assert revisable(checked) == {}
    assert any("cannot be revised" in blocker.what for blocker in checked.blockers)


def test_an_input_without_the_field_still_needs_a_word() -> None:
    plain = FILE.replace('<field name="revised_value" type="string" size="32"/>', "")
    (blocker, *_) = check(file(plain)).blockers
    assert "cannot be revised" in blocker.what and "revised_value" in str(blocker.next_step)
    with pytest.raises(DiagramError):
        check(file(plain)).runnable()
