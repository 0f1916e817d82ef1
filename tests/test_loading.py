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


TABLE = (
    '<borealis><schema name="row"><field name="k" type="int"/><field name="v" type="double"/></schema>'
    '<input stream="a" schema="row"/><query name="q"><table name="t" schema="row"><key field="k"/>'
    '<parameter name="contents" value="{}"/></table><box name="look" type="select"><in stream="a"/><out stream="b"/>'
    '<access table="t"/><parameter name="sql" value="select * from t where k = input.k"/></box></query>'
    '<output stream="b"/></borealis>'
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rows.csv", "K,V\n1,0.5\n2,\n"),
        ("rows.json", '[{"k": 1, "v": 0.5}, {"k": 2, "v": null}]'),
    ],
)
def test_a_table_has_the_contents_of_a_file_beside_the_diagram(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / "d.xml").write_text(TABLE.format(name))
    (table,) = auroral.load(tmp_path / "d.xml").tables
    assert table.contents is not None
    assert (table.contents.rows, table.contents.origin) == (((1, 0.5), (2, None)), name)


def test_contents_that_do_not_fit_are_refused_by_row(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("k,v\n1,0.5\nx,2\n")
    (tmp_path / "d.xml").write_text(TABLE.format("rows.csv"))
    with pytest.raises(DiagramError, match=r"row 1 of .*rows.csv does not fit: not a whole number"):
        auroral.load(tmp_path / "d.xml")
    with pytest.raises(DiagramError, match=r"nix.csv cannot be read"):
        auroral.load(TABLE.format("nix.csv"))


def test_rows_of_a_file_in_python(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("k,at\n1,2026-01-01T00:00:00Z\n")
    rows = auroral.read_rows(tmp_path / "rows.csv", "k int, at timestamp")
    d = auroral.diagram("d")
    d.table("t", "k int, at timestamp", key=["k"], contents=rows)
    (table,) = d.build().tables
    assert table.contents is not None and table.contents.rows == ((1, 1767225600 * 10**6),)
