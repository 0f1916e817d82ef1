"""Tables in Borealis files: boxes with SQL, what their parameters ask for, and what can be wrong."""

from __future__ import annotations

import pytest

from auroral.model.boxes.locks import Lock, Unlock
from auroral.model.boxes.tables import Delete, Exists, Insert, Select, Update
from auroral.model.checking import check
from auroral.model.errors import DiagramError, Problem
from auroral.model.regions import TypedRegion
from model.xml.compose import box, load, problems, spec

TABLE = '<table name="Seen" schema="row"><key field="K"/><index field="t"/><parameter name="create" value="1"/></table>'


def table_box(
    type_name: str, parameters: dict[str, str], outs: list[str], name: str = "it", table: str = "SEEN"
) -> str:
    """A box with access to a table."""
    return box(type_name, parameters, ["a"], outs, name).replace("</box>", f'<access table="{table}"/></box>')


def problem(*body: str) -> Problem:
    """The only problem of a diagram, of the file or of what is in it."""
    with pytest.raises(DiagramError) as caught:
        check(load(*body).diagram)
    (found,) = caught.value.problems
    return found


def query(*boxes: str) -> str:
    return '<query name="q">' + TABLE + "".join(boxes) + "</query>"


def test_parameters() -> None:
    assert spec("insert", {"sql": "insert into T values (INPUT.a)", "pass-input": "1"}) == Insert(
        "insert into t values (input.a)", True
    )
    sql = "select * from t"
    assert spec("select", {"sql": sql}) == Select(sql)
    assert spec("select", {"sql": sql, "pass-on-no-results": "true", "pass-result-sizes": "1"}) == Select(
        sql, True, True
    )
    assert spec("delete", {"sql": "delete from t", "pass-deletions": "1"}) == Delete("delete from t", True, False)
    assert spec("exists", {"sql": sql}) == Exists(sql)
    update = {"sql": "update t set v = 1", "output-expression.0": "New.V - old.v", "output-field-name.0": "Change"}
    assert spec("update", update) == Update("update t set v = 1", False, (("change", "new.v - old.v"),))
    assert spec("lock", {"lockset": "S", "key": "K, t"}) == Lock("S", ("k", "t"))
    assert spec("unlock", {"lockset": "S", "key": "K"}) == Unlock("S", ("k",))


def test_a_whole_diagram() -> None:
    loaded = load(
        query(
            table_box("insert", {"sql": "insert into Seen values (input.T, input.K, input.V)"}, [], "put"),
            table_box(
                "select",
                {"sql": "select v as Old from SEEN where seen.k == Input.K", "pass-on-no-results": "1"},
                ["found", "new"],
                "look",
            ),
        ),
        '<output stream="found"/><output stream="new"/>',
    )
    assert loaded.warnings == ()
    checked = check(loaded.diagram)
    (region,) = checked.runnable().boxes
    assert isinstance(region.typed, TypedRegion)
    assert str(checked.streams["found"].schema) == "old double"
    assert checked.streams["new"].schema.names == ("t", "k", "v")


def test_errors_have_the_line_of_the_sql() -> None:
    found = problem(query(table_box("delete", {"sql": "delete from seen where nix = 1"}, [])))
    assert "unknown field 'nix', at column 24" in found.what
    assert str(found.place) == "f.xml:7, box 'it', parameter 'sql'"
    unread = problem(query(table_box("delete", {"sql": "delete seen"}, [])))
    assert "'seen' cannot stand here, at column 8" in unread.what and unread.place.line == 7


def test_access_and_sql_are_about_one_table() -> None:
    other = '<table name="other" schema="row"><key field="k"/></table>'
    wrong = table_box("delete", {"sql": "delete from other"}, [])
    assert "is about table 'other', and the box has access to seen" in problem(query(other, wrong)).what


def test_output_expressions_come_with_names() -> None:
    update = {"sql": "update seen set v = 1.0", "output-expression.0": "new.v"}
    assert "no 'output-field-name.0'" in problem(query(table_box("update", update, ["out"]))).what


def test_a_table_in_two_queries() -> None:
    first = query(table_box("delete", {"sql": "delete from seen"}, []))
    second = '<query name="other">' + table_box("delete", {"sql": "delete from seen"}, [], "more") + "</query>"
    assert "is used in query 'q' and in query 'other'" in problem(first, second).what


def test_two_tables_of_one_name() -> None:
    found = problems('<query name="q">' + TABLE + TABLE + "</query>")
    assert [p.what for p in found] == ["table name 'seen' is used twice"]


def test_changes_of_a_table_are_a_stream() -> None:
    table = TABLE.replace('value="1"/>', 'value="1"/><parameter name="changes" value="Log"/>')
    put = table_box("insert", {"sql": "insert into seen values (input.t, input.k, input.v)"}, [], "put")
    loaded = load('<query name="q">' + table + put + "</query>", '<output stream="log"/>')
    assert check(loaded.diagram).streams["log"].schema.names == ("number", "change", "t", "k", "v")
