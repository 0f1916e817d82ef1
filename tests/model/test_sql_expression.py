"""auroral.sql(text, type): what is said of it without Spark. Names, refused functions, and where the text ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auroral.model.expression import ExpressionError, Scope, fields_read, resolve, sql
from auroral.model.expression.sqltokens import SqlKind, sql_tokens
from auroral.model.schema import schema

FIELDS = schema("v double, host string, ts timestamp, day int, `odd name` int, over int")
SCOPE = Scope.of(FIELDS)


def read(text: str, scope: Scope = SCOPE) -> set[str]:
    """The fields that the text reads, with their qualifiers."""
    return {f"{q}.{name}" if q else name for q, name in fields_read(resolve(sql(text, "string"), scope))}


def refused(text: str, scope: Scope = SCOPE) -> str:
    with pytest.raises(ExpressionError) as caught:
        resolve(sql(text, "string"), scope)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("upper(host)", {"host"}),
        ("v > 1 -- large ones, nope", {"v"}),
        ("v /* nope /* nested nope */ nope */ + 1", {"v"}),
        ("'nope' || \"it's nope\" || host || r'\\' || 'it''s nope' || 'a\\'nope'", {"host"}),
        ("`odd name` + `v`", {"odd name", "v"}),
        ("1.5e3 + 2L + 3BD + .5 + v", {"v"}),
        ("CAST(v AS decimal(10, 2)) + CAST(day AS date)", {"v", "day"}),
        ("CAST(host AS map<string, array<int>>)['nope'][day]", {"host", "day"}),
        ("v::int + host::decimal(3,1) + v::array<map<int,int>>", {"v", "host"}),
        ("ts + INTERVAL 1 day + INTERVAL '1-2' YEAR TO MONTH + INTERVAL -3 hours 5 minutes", {"ts"}),
        ("day + extract(year FROM ts)", {"day", "ts"}),
        ("date '2024-01-01' < ts AND ts < timestamp '2025-01-01' AND x'ff' = x'00'", {"ts"}),
        ("ts > timestamp r' +2024-01-01 UTC' OR ts > date 'Epoch' OR time '12:30' = time 'T1:02'", {"ts"}),
        ("dateadd(month, 1, ts)", {"ts"}),
        ("datediff(day, ts)", {"day", "ts"}),
        ("transform(split(host, ','), x -> x || host)[0]", {"host"}),
        ("aggregate(array(v), 0D, (acc, x) -> acc + x + v, acc -> acc)", {"v"}),
        ("from_json(host, 'a int').a", {"host"}),
        ("named_struct('a', v).a", {"v"}),
        ("CASE WHEN v IS NOT NULL AND NOT (v BETWEEN 1 AND 2) THEN 'a' ELSE NULL END", {"v"}),
        ("host LIKE ANY ('a%', 'b%') OR host RLIKE 'x' OR host NOT IN ('a')", {"host"}),
        ("trim(BOTH 'x' FROM host) || trim(FROM host) || substring(host FROM 2 FOR 3)", {"host"}),
        ("mask(host, lowerChar => 'q')", {"host"}),
        ("exists(array(v), e -> e > 1)", {"v"}),
        ("host COLLATE UTF8_LCASE = 'a'", {"host"}),
        ("stime DIV 1000", {"stime"}),
        ("unix_timestamp(ts) + over", {"ts", "over"}),
        ("left(host, 2) || right(host, 1)", {"host"}),
        ("system.builtin.upper(host)", {"host"}),
        ("struct(v AS x, host AS y).x", {"v", "host"}),
    ],
)
def test_fields_are_found_and_nothing_else(text: str, fields: set[str]) -> None:
    assert read(text) == fields


def test_a_lambda_variable_hides_a_field_only_in_its_lambda() -> None:
    found = resolve(sql("transform(array(v), host -> host) || host", "string"), SCOPE)
    assert [(c.field.name, c.at) for c in found.columns] == [("v", 16), ("host", 37)]


def test_sides_of_a_join() -> None:
    scope = Scope.named(left=schema("k int, v int"), right=schema("k int, w int"))
    assert read("left.k = right.k AND v > w AND left(w, 1) = left.stime", scope) == {
        "left.k",
        "right.k",
        "left.v",
        "right.w",
        "left.stime",
    }
    assert "the field 'k' is in several inputs" in refused("k > 1", scope)
    assert "unknown field of right 'v'" in refused("right.v > 1", scope)


def test_an_unknown_column_is_named_with_the_nearest() -> None:
    said = refused("upper(hots) || nope")
    assert "in SQL, unknown field 'hots', at column 7" in said
    assert "did you mean 'host'?" in said
    assert "unknown field 'nope', at column 16" in said
    assert "allowed: v, host, ts, day, odd name, over, stime" in said
    # Names are case-sensitive, and hidden columns are not there.
    assert "unknown field 'Host'" in refused("Host")
    assert "unknown field '__stime'" in refused("__stime")


@pytest.mark.parametrize(
    "text",
    [
        "rand()", "randn(3)", "uuid()", "shuffle(array(v))", "now()", "current_timestamp()", "current_timestamp",
        "current_date", "CURRENT_DATE()", "curdate()", "localtimestamp()", "monotonically_increasing_id()",
        "spark_partition_id()", "input_file_name()", "input_file_block_start()",
        "java_method('java.lang.Thread', 'sleep', 1L)", "reflect('a', 'b')", "current_user()", "user", "session_user()",
        "current_database()", "unix_timestamp()", "`rand`()", "system.builtin.rand()", "RAND ( )", "timestamp 'now'",
        "date ' Today '", "timestamp 'today UTC'", "timestamp r'now+01:00'", 'timestamp_ltz "Yesterday"', "timestamp '12:30'",
        "timestamp 'T12:30'", r"date 't\u006fday'", "v + /* */ rand()", "transform(array(v), x -> x + rand())[0]", "aes_encrypt(host, 'k')",
        "uniform(1, 2)", "randstr(3)", "try_reflect('a', 'b')",
    ],
)  # fmt: skip
def test_what_is_not_repeatable_is_refused(text: str) -> None:
    said = refused(text)
    assert "gives something else each time" in said
    assert "allowed: functions of the row alone" in said


def test_a_field_may_have_a_functions_name() -> None:
    assert read("user", Scope.of(schema("user string"))) == {"user"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("(SELECT max(v) FROM other)", "a subquery reads other rows"),
        ("v IN (select 1)", "a subquery reads other rows"),
        ("exists(select 1)", "a subquery reads other rows"),
        ("(FROM range(3))", "a subquery reads other rows"),
        ("v IN (VALUES 1)", "a subquery reads other rows"),
        ("sum(v)", "sum() is an aggregate of many rows"),
        ("count(*)", "count() is an aggregate of many rows"),
        ("any(v > 1)", "any() is an aggregate"),
        ("row_number() OVER (ORDER BY v)", "row_number() looks at other rows"),
        ("upper(host) OVER (PARTITION BY v)", "OVER looks at other rows"),
        ("window(ts, '1 s').start", "window() looks at other rows"),
        ("explode(array(v))", "explode() makes several rows of one"),
        ("raise_error('x')", "raise_error() would stop the stream"),
        ("hash(*)", "* stands for all columns"),
        ("IDENTIFIER('rand')()", "identifier() hides which field or function is meant"),
        ("identifier('v')", "identifier() hides"),
    ],
)
def test_what_is_not_of_one_row_is_refused(text: str, why: str) -> None:
    assert why in refused(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("v; drop table x", "';' cannot stand in an expression"),
        ("v) , (v", "nothing is open that ')' could close"),
        ("(v", "'(' is not closed"),
        ("host = 'a", "what starts here has no end"),
        ("v /* x", "close it with */"),
        ("`v", "close it with `"),
        ("-- all", "nothing but comments"),
        ("v\x00", "cannot stand in an expression"),
        ("'\x02in\x03'", "cannot stand in an expression"),
        ("v + " * 20_000 + "v", "characters"),
    ],
)
def test_the_text_ends_where_it_seems_to_end(text: str, why: str) -> None:
    assert why in refused(text)


def test_everything_wrong_is_said_at_once() -> None:
    assert refused("rand() + nope + sum(v)").count("in SQL, ") == 3


def test_tokens_cover_the_text() -> None:
    text = "a<=>b->'x''y' || /*c*/ \"d\\\"e\"::int--f\\\ng\n1.5e-3d `h``i` R'j\\' é"
    tokens = sql_tokens(text)
    assert [t.text for t in tokens] == [
        "a", "<=>", "b", "->", "'x''y'", "||", "/*c*/", '"d\\"e"', "::", "int", "--f\\\ng", "1.5e-3d", "`h``i`", "R'j\\'",
        "é",
    ]  # fmt: skip
    assert all(text[t.at : t.end] == t.text for t in tokens)
    assert tokens[12].name == "h`i" and tokens[12].kind is SqlKind.QUOTED


PIECES = [
    "v", "host", "nope", "(", ")", "[", "]", ",", ".", "->", "=>", "::", "as", "<", ">", "interval", "1", "day", "to", "'a'", "`v`",
    "select", "over", "extract", "from", "trim", "case", "end", "*", "-- x\n", "/* y */", "/*", "'", "`", ";", "$", "\\", "x",
    "date", "rand", "collate", "any", "like", "left", "é", " ",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES)).map(" ".join) | st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    """And what is read keeps its columns in order, inside the text, under their own names."""
    for scope in (SCOPE, Scope.named(left=FIELDS, right=schema("w int"))):
        try:
            found = resolve(sql(text, "string"), scope)
        except ExpressionError:
            continue
        ends = [0]
        for column in found.columns:
            assert ends[-1] <= column.at < column.end <= len(text)
            assert text[column.at : column.end].strip("`").endswith(column.field.name)
            ends.append(column.end)
