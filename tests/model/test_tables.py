"""Tables: their SQL, what their boxes give, and how boxes that share a table become one region."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import auroral
from auroral.model.builder import DiagramBuilder
from auroral.model.errors import DiagramError, Problem
from auroral.model.regions import Region, TypedRegion
from auroral.model.steps import Stream
from auroral.model.table_steps import TableHandle
from auroral.model.tablesql import Delete, Insert, Select, Update, parse_sql


def bank(**options: object) -> tuple[DiagramBuilder, TableHandle, Stream]:
    d = auroral.diagram("bank")
    accounts = d.table("accounts", "id long, owner string, balance double", key=["id"], **options)  # type: ignore[arg-type]
    return d, accounts, d.input("paid", "id int, amount double, stime long")


def problems(make: Callable[[], object]) -> tuple[Problem, ...]:
    with pytest.raises(DiagramError) as caught:
        make()
    return caught.value.problems


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("insert into t values (input.a, 1 + 2)", Insert),
        ("INSERT INTO t (a, field(\"odd one\")) VALUES (input.a, 'x');", Insert),
        ("select * from t", Select),
        ("select input.*, t.a as x, b c from t where t.a == input.a and b > 3 order by t.a desc, b limit 3", Select),
        # Words of SQL are names where they can be.
        ("select limit, from from t where set > 1 limit 2", Select),
        ("select limit, set as by from t where limit > 1 limit 2", Select),
        ("update t set a = a + input.x, set = if a > 1 then 2 else 3 where a = 1", Update),
        ("delete from t", Delete),
    ],
)
def test_statements(text: str, kind: type) -> None:
    assert type(parse_sql(text)) is kind


@pytest.mark.parametrize(
    ("text", "what", "column"),
    [
        ("", "the SQL is empty", 1),
        ("delete from accounts where id =", "the statement ends too early", 32),
        ("insert accounts values (1)", "'accounts' cannot stand here", 8),
        ("select id, from accounts", "the statement ends too early", 25),
        ("select ? from accounts", "the character '?' has no meaning here", 8),
        ("insert into accounts (odd('x')) values (1)", "odd(...) is no name", 23),
        ("select 99999999999999999999 as x from accounts", "the integer is too large", 8),
    ],
)
def test_statements_that_cannot_be_read(text: str, what: str, column: int) -> None:
    (found,) = problems(lambda: parse_sql(text))
    assert what in found.what and f"at column {column}:" in found.what


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("delete from accounts where idd = 1", "unknown field 'idd', at column 28"),
        ("delete from account where id = 1", "unknown table 'account'"),
        ("delete from accounts where balance", "where is of type double, at column 28"),
        ("delete from accounts where accounts.stime = 1", "unknown field of accounts 'stime'"),
        ("select 1 + 1 from accounts", "this value has no name"),
        ("select other.* from accounts", "unknown input 'other'"),
        ("select accounts.id, input.id from accounts", "field 'id' is there twice"),
        ("insert into accounts values (1)", "1 values for 3 fields (id, owner, balance)"),
        ("insert into accounts (id, nix) values (1, 2)", "unknown field of accounts 'nix'"),
        ("insert into accounts (id, id) values (1, 2)", "the field 'id' is there twice"),
        ("insert into accounts (owner) values ('x')", "the key 'id' has no value"),
        ("insert into accounts (id, owner) values (1, 2)", "the value for 'owner' is a int, and the field a string"),
        ("insert into accounts (id) values (amount)", "the value for 'id' is a double, and the field a long"),
        ("insert into accounts (id) values (accounts.id)", "unknown input 'accounts'"),
        ("update accounts set id = 2", "'id' is part of the key of 'accounts'"),
        ("update accounts set nix = 2", "unknown field of accounts 'nix'"),
        ("update accounts set balance = 1.0, balance = 2.0", "the field 'balance' is set twice"),
    ],
)
def test_what_a_statement_can_have_wrong(text: str, what: str) -> None:
    found = problems(lambda: _checked(text))
    assert what in "\n".join(problem.what for problem in found)


def test_a_clock_is_refused() -> None:
    d, accounts, paid = bank()
    paid.update("it", accounts, {"balance": "now()"})
    assert "calls now()" in d.check().blockers[0].what


def _checked(text: str) -> None:
    from auroral.model.boxes import tables

    d, _, paid = bank()
    kind = text.split()[0]
    spec = {"insert": tables.Insert, "select": tables.Select, "update": tables.Update, "delete": tables.Delete}[kind](
        text
    )
    d.add("it", spec, (paid,), ["out"] if kind == "select" else [], auroral.model.errors.Place())
    d.check()


def test_a_box_has_a_statement_of_its_kind() -> None:
    from auroral.model.boxes.tables import Exists

    d, _, paid = bank()
    d.add("it", Exists("delete from accounts"), (paid,), ["out"], auroral.model.errors.Place())
    (found,) = problems(d.check)
    assert found.what == "sql: this is a delete" and found.allowed == "select"


def test_streams_that_select_gives() -> None:
    d, accounts, paid = bank()
    made = paid.select(
        "look",
        accounts,
        {"who": "owner", "paid": "amount", "at": "input.stime"},
        where="accounts.id = input.id and owner = 'x'",
        otherwise=True,
        sizes=True,
    )
    checked = d.check()
    assert isinstance(made, tuple)
    assert [stream.name for stream in made] == ["look", "look.else", "look.sizes"]
    assert str(checked.streams["look"].schema) == "who string, paid double, at long"
    assert checked.streams["look.else"].schema == checked.streams["paid"].schema
    # An int is found by what it was compared as.
    assert str(checked.streams["look.sizes"].schema) == "id long, owner string(1), count int"


def test_a_name_alone_is_of_the_table_where_both_have_it() -> None:
    d, accounts, paid = bank()
    paid.select("look", accounts, {"whose": "id"}, where="id = input.id")
    assert str(d.check().streams["look"].schema) == "whose long"


def test_fields_that_carry_the_stime_still_do() -> None:
    d = auroral.diagram("d")
    table = d.table("t", "k int, at timestamp", key=["k"])
    given = d.input("a", "k int, at timestamp", stime="at")
    given.insert("put", table, pass_input=True)
    given.select("look", table, {"then": "t.at", "now": "input.at", "stime_too": "stime"}, where="t.k = input.k")
    given.lock("wait", "s", ["k"])
    streams = d.check().streams
    assert [clock.name for clock in streams["put"].clocks] == ["at"]
    assert [clock.name for clock in streams["look"].clocks] == ["now", "stime_too"]
    assert streams["wait"].clocks == ()


def test_outputs_must_be_those_that_are_asked_for() -> None:
    from auroral.model.boxes.tables import Delete as DeleteBox

    d, _, paid = bank()
    d.add("it", DeleteBox("delete from accounts", True, True), (paid,), ["one"], auroral.model.errors.Place())
    (found,) = problems(d.check)
    assert found.what == "delete has 1 output streams, and its parameters ask for 2 (pass-deletions, pass-input)"


def test_an_update_gives_one_of_two_things() -> None:
    d, accounts, paid = bank()
    paid.update("it", accounts, {"balance": "amount"}, columns={"x": "new.balance"}, pass_input=True)
    (found,) = problems(d.check)
    assert "one of the two" in (found.allowed or "")


def test_boxes_that_share_a_table_are_one_region_with_what_lies_between() -> None:
    d, accounts, paid = bank()
    before = paid.filter("before", "amount > 0.0")
    known = before.exists("known", accounts, where="accounts.id = input.id")
    assert not isinstance(known, tuple)
    doubled = known.map("doubled", {"id": "id", "amount": "amount * 2.0"})
    doubled.update("add", accounts, {"balance": "balance + amount"}, where="accounts.id = input.id", pass_input=True)
    doubled.filter("behind", "amount > 4.0").output()
    checked = d.check()
    assert [box.box.name for box in checked.boxes] == ["before", "known", "behind"]
    region = checked.boxes[1]
    assert isinstance(region.box.spec, Region) and isinstance(region.typed, TypedRegion)
    assert region.box.spec.members == ("known", "doubled", "add")
    assert region.box.spec.type_name == "region of table 'accounts': known, doubled, add"
    assert (region.box.inputs, region.box.outputs) == (("before",), ("known", "doubled", "add"))


def test_tables_whose_boxes_lie_between_one_another_are_one_region() -> None:
    d, accounts, paid = bank()
    other = d.table("other", "id int", key=["id"])
    first = paid.insert("first", accounts, {"id": "input.id"}, pass_input=True)
    assert first is not None
    second = first.insert("second", other, {"id": "input.id"}, pass_input=True)
    assert second is not None
    second.delete("third", accounts)
    paid.exists("fourth", other, where="other.id = input.id")
    (region,) = d.check().boxes
    assert isinstance(region.box.spec, Region)
    assert region.box.spec.members == ("first", "second", "third", "fourth")


def test_two_tables_are_two_regions() -> None:
    d, accounts, paid = bank()
    other = d.table("other", "id int", key=["id"])
    paid.insert("first", accounts, {"id": "input.id"})
    behind = paid.filter("between", "amount > 0.0")
    behind.insert("second", other, {"id": "input.id"})
    assert [box.box.name for box in d.check().boxes] == ["between", "first", "second"]


def test_what_cannot_lie_between_boxes_of_a_table() -> None:
    d, accounts, paid = bank()
    known = paid.exists("known", accounts, where="accounts.id = input.id")
    assert not isinstance(known, tuple)
    total = known.aggregate("total", {"sum": "sum(amount)"}, window="1s", by=["id"])
    total.update("add", accounts, {"balance": "sum"}, where="accounts.id = input.id")
    (found,) = problems(d.check)
    assert found.what.startswith("box 'total' (aggregate) lies between boxes of table 'accounts'")
    assert "filter, map and union" in (found.allowed or "") and "before or behind" in (found.next_step or "")


def test_spark_sql_cannot_be_evaluated_row_by_row() -> None:
    d, accounts, paid = bank()
    known = paid.exists("known", accounts, where="accounts.id = input.id")
    assert not isinstance(known, tuple)
    upper = known.map("upper", {"id": "id", "x": auroral.sql("abs(amount)", "double")})
    upper.update("add", accounts, {"balance": "x"}, where="accounts.id = input.id")
    (found,) = problems(d.check)
    assert "box 'upper' has an expression in Spark SQL" in found.what


def test_a_table_is_in_one_query() -> None:
    d, accounts, paid = bank()
    paid.insert("put", accounts, {"id": "input.id"})
    with d.query("elsewhere"):
        paid.exists("look", accounts, where="accounts.id = input.id")
    (found,) = problems(d.check)
    assert "is used in query 'bank' and in query 'elsewhere', by box 'look'" in found.what
    assert "move box 'look' into query 'bank'" in (found.next_step or "")


def test_a_table_that_nothing_writes() -> None:
    d, accounts, paid = bank()
    paid.exists("look", accounts, where="accounts.id = input.id")
    assert [w.what for w in d.check().warnings if "nothing will ever be found" in w.what]
    d, accounts, paid = bank(contents=[{"id": 1}])
    paid.exists("look", accounts, where="accounts.id = input.id")
    assert not [w.what for w in d.check().warnings if "nothing will ever be found" in w.what]


def test_an_output_is_computed_from_all_that_its_table_is() -> None:
    d, accounts, paid = bank()
    opened = d.input("opened", "id long")
    opened.insert("open", accounts, {"id": "input.id"})
    look = paid.exists("look", accounts, where="accounts.id = input.id")
    assert not isinstance(look, tuple)
    look.output()
    d.input("else", "id int").filter("f", "id > 1").output()
    assert d.build().computed_from("look") == ("paid", "opened")
    assert d.build().computed_from("f") == ("else",)


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ([{"id": "x"}], "row 0 of the contents, field 'id': 'x', which is not of type long"),
        ([{"id": 1}, {"idd": 2}], "unknown field 'idd'"),
        ([3], "row 0 of the contents is 3"),
        ([{"id": 1}, {"id": 2}, {"id": 1}], "rows 0 and 2 of the contents have one key: id 1"),
    ],
)
def test_contents_must_be_rows_of_the_table(rows: list[object], what: str) -> None:
    (found,) = problems(lambda: bank(contents=rows))
    assert what in found.what


@pytest.mark.parametrize("twice", [(0.0, -0.0), (math.nan, -math.nan), (None, None)])
def test_keys_of_contents_are_one_where_the_table_finds_them_so(twice: tuple[float | None, ...]) -> None:
    rows = [{"x": x, "n": 1} for x in twice]
    (found,) = problems(lambda: auroral.diagram("d").table("t", "x double, n int", key=["n", "x"], contents=rows))
    assert "rows 0 and 1 of the contents have one key: n 1, x " in found.what
    rows[1]["n"] = 2
    auroral.diagram("d").table("t", "x double, n int", key=["n", "x"], contents=rows)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda d: d.table("t", "k int", key=["x"]), "unknown field 'x'"),
        (lambda d: d.table("t", "k int", key=[]), "table 't' has no key"),
        (lambda d: d.table("t", "k int", key=["k"], indexes=["y"]), "unknown field 'y'"),
        (lambda d: d.table("input", "k int", key=["k"]), "a table cannot be called 'input'"),
        (lambda d: d.table("odd name", "k int", key=["k"]), "the table's name is 'odd name'"),
        (
            lambda d: (d.table("t", "k int", key=["k"]), d.table("t", "k int", key=["k"])),
            "table name 't' is used twice",
        ),
    ],
)
def test_what_a_table_can_have_wrong(make: Callable[[DiagramBuilder], object], what: str) -> None:
    def whole() -> None:
        d = auroral.diagram("d")
        make(d)
        d.check()

    (found,) = problems(whole)
    assert what in found.what


def test_steps_want_tables_of_their_diagram() -> None:
    _, accounts, _ = bank()
    _, _, paid = bank()
    (found,) = problems(lambda: paid.insert("put", accounts, {"id": "id"}))
    assert "is not a table of this diagram" in found.what
    (found,) = problems(lambda: paid.insert("put", "accounts"))  # type: ignore[arg-type]
    assert "is not a table of this diagram" in found.what


def locked_twice(between: str = "", key: str = "id", lockset: str = "s", elsewhere: bool = False) -> DiagramBuilder:
    """Rows pass two locks, and are unlocked behind the second."""
    d, _, paid = bank()
    first = paid.lock("first", "s", ["id"])
    passed = (
        first.unlock("done", "s", ["id"])
        if between == "unlock"
        else first.map("same", {"id": "id", "amount": "amount"})
    )
    passed.lock("second", lockset, [key]).unlock("last", "s", ["id"]).output()
    if elsewhere:
        paid.unlock("aside", "s", ["id"]).output()
    return d


def test_rows_that_would_wait_for_themselves_are_refused() -> None:
    (found,) = problems(locked_twice().check)
    assert found.what == (
        "rows that passed lock 'first' hold their key of lockset 's', and wait for it for ever in lock 'second': only rows behind it "
        "unlock one"
    )


@pytest.mark.parametrize(
    "other",
    [{"between": "unlock"}, {"key": "amount"}, {"lockset": "t"}, {"elsewhere": True}],
    ids=lambda other: next(iter(other)),
)
def test_a_second_lock_that_may_be_freed_is_none(other: dict[str, Any]) -> None:
    locked_twice(**other).check()


def test_locks_need_fields_that_are_there() -> None:
    d, _, paid = bank()
    paid.lock("take", "s", ["nix"])
    (found,) = problems(d.check)
    assert "unknown field 'nix'" in found.what


def test_changes_of_a_table() -> None:
    d, accounts, paid = bank()
    paid.insert("put", accounts, {"id": "input.id"})
    accounts.changes("log").output()
    checked = d.check()
    assert str(checked.streams["log"].schema) == "number long, change string, id long, owner string, balance double"
    assert d.build().computed_from("log") == ("paid",)


def test_changes_do_not_lead_back_to_their_table() -> None:
    d, accounts, paid = bank()
    paid.insert("put", accounts, {"id": "input.id"})
    accounts.changes("log").filter("some", "id > 1").delete("again", accounts, where="id = input.id")
    assert "changes of table 'accounts' lead back to it, by way of box 'some'" in problems(d.check)[0].what
    # By way of another table.
    d, accounts, paid = bank()
    other = d.table("other", "id long", key=["id"])
    paid.insert("put", accounts, {"id": "input.id"})
    accounts.changes("log").insert("copy", other, {"id": "input.id"})
    other.changes("back").insert("again", accounts, {"id": "input.id"})
    (found,) = problems(d.check)
    assert "changes of a table lead back to it" in found.what


def test_changes_need_a_box_that_writes() -> None:
    d, accounts, _ = bank()
    accounts.changes("log").output()
    (found,) = problems(d.check)
    assert "gives the changes of table 'accounts', which no box writes" in found.what
