"""X8: boxes that go by rows, tables and locks are written as XML, in Borealis' words where it has any, and read again as the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import auroral
from auroral.model.boxes.join import ALL, Join, JoinBuffer
from auroral.model.diagram import Diagram
from auroral.model.errors import DiagramError
from auroral.model.xml import read_diagram, same_diagram, write_diagram
from auroral.model.xml.boxes import OUR_TYPES, SHAPES
from model.xml.compose import AGGREGATE, JOIN, box, load, without
from model.xml.test_coverage import BASES, PORTS, TABLE_BOXES, TWO_INPUTS
from model.xml.test_tables import query


def again(diagram: Diagram) -> Diagram:
    return read_diagram(write_diagram(diagram)).diagram


@pytest.mark.parametrize("type_name", [name for name in BASES if name not in OUR_TYPES])
def test_files_stay_in_the_words_of_borealis(type_name: str) -> None:
    outs = PORTS.get(type_name, lambda given: ["out"])(BASES[type_name])
    text = box(type_name, BASES[type_name], ["a", "b"] if type_name in TWO_INPUTS else ["a"], outs)
    if type_name in TABLE_BOXES:
        text = query(text.replace("</box>", '<access table="seen"/></box>'))
    diagram = load(text).diagram
    written = write_diagram(diagram, "f.xml", strict=True)
    assert f'type="{type_name}"' in written and "auroral" not in written
    assert list(read_diagram(written, "f.xml").diagram.boxes) == list(diagram.boxes)
    given = {name for name in BASES[type_name] if name not in SHAPES[type_name].idle}
    assert all(f'name="{name}"' in written for name in given)


def test_forms_of_windows_that_rows_close() -> None:
    by_rows = {**AGGREGATE, "window-size-by": "TUPLES"}
    for parameters in (
        {**by_rows, "slack": "3", "timeout": "2.5", "group-by": "k"},
        {**without(by_rows, "order-on-field"), "order-by": "TUPLENUM"},
        {**AGGREGATE, "order-by": "TUPLENUM"},
        {**AGGREGATE, "aggregate-function-output-name.0": "t"},
        {**AGGREGATE, "group-by": "t"},
        {**AGGREGATE, "order-on-field": "v", "slack": "1", "independent-window-alignment": "1", "timeout": "9"},
    ):
        diagram = load(box("aggregate", parameters)).diagram
        written = write_diagram(diagram, "f.xml", strict=True)
        assert list(read_diagram(written, "f.xml").diagram.boxes) == list(diagram.boxes), parameters


def test_a_side_of_an_sjoin_that_does_not_look() -> None:
    diagram = load(box("sjoin", {**JOIN, "rightjoin": "false", "timeout": "3"}, ["a", "b"])).diagram
    written = write_diagram(diagram, "f.xml", strict=True)
    assert '<parameter name="rightjoin" value="false"/>' in written and "leftjoin" not in written
    assert same_diagram(read_diagram(written, "f.xml").diagram, diagram)


def rows() -> auroral.DiagramBuilder:
    made = auroral.diagram("rows")
    a = made.input("A", "t long, k string, v double", stime="t", unit="s")
    b = made.input("b", "t long, k string, v double", stime="t", unit="s")
    a.aggregate_rows("rows", {"n": "count()"}, rows=5, advance=2, on="v", slack=3, start="from", timeout="9s")
    a.aggregate_rows("idle", {"n": "count()"}, rows=5, slack=3)
    a.aggregate_values("values", {"n": "count()"}, on="v", window=2.5, by=["k"], aligned="first", slack=1)
    a.join("kept", b, on="left.k = right.k", rows=(3, 4), looking="left", timeout="2s")
    a.join("mixed", b, on="left.k = right.k", within=("5s", None), rows=(None, 4))
    a.join_static("static", b, on=auroral.sql("left.k = right.k", "bool"))
    a.bsort("sorted", on=["v", "k"], slack=4, by=["k"])
    a.wsort("waited", on=["v"], timeout="1500us")
    a.waitfor("enabled", b, on=auroral.sql("buffered.k = enabler.k", "bool"), timeout="10s")
    a.resample("between", b, {"w": "v"}, within="1us", by=["k"])
    a.cross_section("section", {"m": "max(v)"}, across=["k"], within="1min")
    a.combine("both", b, key="k", columns={"x": "in0.v + in1.v", "y": auroral.sql("in0.v", "double")})
    a.lrwaitfor("far", b, key="t", by=["k"], start=-2.5, from_data=True)
    return made


def test_boxes_of_the_python_api() -> None:
    built = rows().build()
    read = again(built)
    assert same_diagram(read, built)
    assert replace(read, schemas=()) == built


def test_strict_names_each_form_that_borealis_lacks() -> None:
    with pytest.raises(DiagramError) as caught:
        rows().to_xml(strict=True)
    said = str(caught.value)
    for name, word in (
        ("rows", "auroral:start"),
        ("values", "auroral:by-values"),
        ("kept", "auroral:sides-named"),
        ("kept", "auroral:rightjoin"),
        ("mixed", "auroral:left-within"),
        ("static", "auroral:sides-named"),
    ):
        (problem,) = (p for p in caught.value.problems if p.place.element == f"box {name!r}")
        assert word in problem.what, said
    assert "box 'sorted'" not in said and "box 'section'" not in said


def test_names_with_commas_and_short_times() -> None:
    made = auroral.diagram("odd")
    a = made.input("a", "`x,y` double, k string, t timestamp", stime="t")
    a.bsort("sorted", on=["x,y"], slack=0, by=["x,y", "k"]).output()
    a.lock("held", "set", ["x,y"])
    a.cross_section("s", {"n": "count()"}, across=["x,y"], within=f"{2**60 + 1}us")
    text = made.to_xml()
    for word in ("auroral:order-on.0", "auroral:group-by.1", "auroral:key.0", "auroral:within"):
        assert f'name="{word}"' in text
    assert same_diagram(read_diagram(text).diagram, made.build())


def test_a_join_that_keeps_all_rows_of_a_side() -> None:
    diagram = load(box("join", JOIN, ["a", "b"])).diagram
    (one,) = diagram.boxes
    for left in (ALL, JoinBuffer(7, tuples=True)):
        assert isinstance(one.spec, Join)
        changed = replace(one, spec=replace(one.spec, left=left))
        whole = replace(diagram, queries=(replace(diagram.queries[0], boxes=(changed,)),))
        assert list(again(whole).boxes) == [changed]


def test_a_joinstatic_that_is_more_is_refused() -> None:
    diagram = load(box("joinstatic", BASES["joinstatic"], ["a", "b"])).diagram
    (one,) = diagram.boxes
    assert isinstance(one.spec, Join)
    changed = replace(one, spec=replace(one.spec, timeout=3.0))
    with pytest.raises(DiagramError, match="a joinstatic has no buffers, timeout or kind"):
        write_diagram(replace(diagram, queries=(replace(diagram.queries[0], boxes=(changed,)),)))


def bank() -> auroral.DiagramBuilder:
    made = auroral.diagram("bank")
    table = made.table("accounts", "id long, Owner string, balance double", key=["id"], indexes=["Owner"])
    paid = made.input("paid", "t long, id long, amount double", stime="t", unit="s")
    paid.insert("open", table, {"id": "input.id", "Owner": "'Ann\\\\B'", "balance": "0.0"}, pass_input=True)
    paid.select("look", table, {"Owner": "Owner"}, where="id = input.id", limit=2, otherwise=True, sizes=True)
    table.changes("first")
    paid.update("book", table, {"balance": "balance + input.amount"}, where="id = input.id", columns={"x": "new.id"})
    paid.delete("close", table, where="balance = 0.0", deleted=True, pass_input=True)
    paid.exists("known", table, where="id = input.id", otherwise=True)
    paid.lock("held", "Set", ["id"])
    paid.unlock("freed", "Set", ["id"])
    table.changes("second").output()
    return made


def test_tables_and_locks_of_the_python_api() -> None:
    built = bank().build()
    text = built.to_xml()
    assert '<box name="first" type="auroral:changes">' in text and '<access table="accounts"/>' in text
    assert same_diagram(auroral.load(text), built)
    assert auroral.check(auroral.load(text)).streams == auroral.check(built).streams
    with pytest.raises(DiagramError, match="box type 'auroral:changes' is one of Auroral's"):
        built.to_xml(strict=True)


def test_parameters_of_a_table() -> None:
    given = 'name="changes" value="CHG"/><parameter name="type" value="BTree"/><parameter name="truncate" value="1"/>'
    table = query(box("union")).replace("</table>", f"<parameter {given}</table>")
    diagram = load(table, '<output stream="chg"/>').diagram
    with pytest.raises(DiagramError, match="parameter 'changes': Borealis would ignore it"):
        write_diagram(diagram, "f.xml", strict=True)
    written = write_diagram(diagram, "f.xml")
    assert "auroral" not in written and written.count("chg") == 1 and 'value="CHG"' in written
    assert same_diagram(read_diagram(written, "f.xml").diagram, diagram)
    assert [one.name for one in diagram.boxes] == ["it", "seen.changes"]


@pytest.mark.parametrize("wrong", ['<in stream="a"/><out stream="c"/><access table="seen"/>', '<out stream="c"/>'])
def test_changes_are_of_one_table(wrong: str) -> None:
    with pytest.raises(DiagramError, match="auroral:changes has other streams or tables than it takes"):
        load(query(f'<box name="c" type="auroral:changes">{wrong}</box>'))


def test_contents_of_a_program_are_refused_and_those_of_a_file_named(tmp_path: Path) -> None:
    made = auroral.diagram("d")
    made.table("people", "id long", key=["id"], contents=[{"id": 1}, {"id": 2}])
    with pytest.raises(DiagramError) as caught:
        made.to_xml()
    (problem,) = caught.value.problems
    assert "table 'people' cannot be written as XML: its 2 rows of contents are in the program" in problem.what
    (tmp_path / "rows.csv").write_text("t,k,v\n1,a,2.5\n")
    text = write_diagram(
        load(query(box("union")).replace("</table>", '<parameter name="contents" value="rows.csv"/></table>')).diagram,
        "f.xml",
    )
    (tmp_path / "f.xml").write_text(text)
    loaded = auroral.load(tmp_path / "f.xml")
    (table,) = loaded.tables
    assert table.contents is not None and table.contents.rows == ((1, "a", 2.5),)
    assert write_diagram(loaded, "f.xml") == text
