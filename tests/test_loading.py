"""`auroral.load`: Borealis files and texts as diagrams."""

from pathlib import Path

import pytest

import auroral
from auroral.model.diagram import Stamp
from auroral.model.errors import DiagramError

GRID = Path(__file__).parents[1] / "examples" / "grid.xml"
TEXT = """
<borealis>
  <schema name="R"><field name="At" type="timestamp"/><field name="Ms" type="long"/><field name="V" type="double"/></schema>
  <input stream="Rows" schema="R"/>
  <output stream="big"/>
  <box name="big" type="filter"><in stream="rows"/><out stream="big"/><parameter name="expression.0" value="V > 1"/></box>
</borealis>
"""


def stamp(**options: object) -> Stamp | None:
    return auroral.load(TEXT, **options).inputs[0].stamp  # type: ignore[arg-type]


@pytest.mark.parametrize("source", [str(GRID), GRID, GRID.read_text(), GRID.read_bytes()])
def test_paths_and_texts(source: str | bytes | Path) -> None:
    found = auroral.load(source)
    assert not auroral.check(found).blockers
    assert found.name == ("diagram" if isinstance(source, bytes) or "<" in str(source) else "grid")
    assert auroral.load(source, name="mine").name == "mine"


def test_stimes() -> None:
    assert stamp() == Stamp()
    assert stamp(stime={"Rows": "At"}) == Stamp("at", 1)
    assert stamp(stime={"rows": "ms:ms"}) == Stamp("ms", 1_000)
    assert stamp(stime={"rows": "ms"}) == Stamp("ms", 1_000_000)


@pytest.mark.parametrize(
    ("stime", "said"),
    [
        ({"row": "at"}, "unknown input stream 'row'(.|\n)*did you mean 'rows'"),
        ({"rows": ":ms"}, "does not say which field"),
        ({"rows": "ms:h"}, "the unit is 'h'"),
        ({"rows": "at:ms"}, "is a timestamp and needs no unit"),
    ],
)
def test_wrong_stimes(stime: dict[str, str], said: str) -> None:
    with pytest.raises(DiagramError, match=said):
        stamp(stime=stime)


def test_an_unknown_stime_field_is_found_by_check() -> None:
    with pytest.raises(DiagramError, match="unknown stime field 'att'"):
        auroral.check(auroral.load(TEXT, stime={"rows": "att"}))


def test_what_is_odd_is_a_warning() -> None:
    with pytest.warns(auroral.LoadWarning, match="endpoint of an input is ignored"):
        auroral.load(TEXT.replace('stream="Rows"', 'stream="Rows" endpoint="x:1"'))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("grit.xml", "cannot be read(.|\n)*next: check the path"),
        (GRID.with_name("grid-deploy.xml"), "this is a deployment, not a diagram"),
        ("<borealis>", "not well-formed"),
    ],
)
def test_what_is_no_diagram(source: str | Path, said: str) -> None:
    with pytest.raises(DiagramError, match=said):
        auroral.load(source)


@pytest.mark.parametrize("name", ["x" * 5_000, "a\0b", "no/such/folder/d.xml"])
def test_names_that_no_file_can_have_are_told(name: str) -> None:
    with pytest.raises(DiagramError, match="cannot be read") as told:
        auroral.load(name)
    assert len(str(told.value)) < 1_000
