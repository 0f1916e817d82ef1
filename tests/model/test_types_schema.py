"""Field types, schemas and lengths of time, in all the spellings that users bring along."""

from datetime import timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auroral.model import types
from auroral.model.duration import UNITS, microseconds, spell
from auroral.model.errors import DiagramError, nearest
from auroral.model.schema import Field, Schema, arrow_schema, schema
from auroral.model.types import FieldType, Kind, UnknownType, common_type, parse_type

EVERY = [
    *(FieldType(kind) for kind in Kind if kind is not Kind.DECIMAL),
    types.string(8),
    types.decimal(10, 2),
    types.decimal(38, 0),
]


@pytest.mark.parametrize("field_type", EVERY, ids=str)
def test_a_type_is_read_as_it_is_written(field_type):
    assert parse_type(str(field_type)) == field_type
    assert parse_type(f"  {str(field_type).upper()} ") == field_type


@pytest.mark.parametrize("field_type", [t for t in EVERY if t.size is None], ids=str)
def test_the_names_of_spark_are_read_too(field_type):
    assert parse_type(field_type.spark) == field_type


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bigint", types.LONG),
        ("Integer", types.INT),
        ("float", types.SINGLE),
        ("real", types.SINGLE),
        ("boolean", types.BOOL),
        ("varchar(5)", types.string(5)),
        ("numeric", types.decimal(10, 0)),
        ("decimal( 5 , 1 )", types.decimal(5, 1)),
        ("decimal(5)", types.decimal(5, 0)),
    ],
)
def test_other_spellings(text, expected):
    assert parse_type(text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("array<int>", "array or nested"),
        ("array", "nested"),
        ("int[3]", "array or nested"),
        ("map<string,int>", "array or nested"),
        ("struct", "nested"),
        ("complex", "not a field type"),
        ("", "not a field type"),
        ("int(4)", "only string and decimal take a size"),
        ("string(3,4)", "only string and decimal"),
        ("string(0)", "at least 1"),
        ("decimal(39,0)", "1 to 38 digits"),
        ("decimal(5,6)", "at most as many"),
    ],
)
def test_types_that_there_are_not(text, words):
    with pytest.raises(UnknownType, match=words):
        parse_type(text)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("int", "int", "int"),
        ("byte", "long", "long"),
        ("int", "single", "single"),
        ("long", "double", "double"),
        ("single", "double", "double"),
        ("string(3)", "string(5)", "string(5)"),
        ("string(3)", "string", "string"),
        ("decimal(5,2)", "decimal(6,1)", "decimal(7,2)"),
        ("decimal(5,2)", "int", "decimal(12,2)"),
        ("decimal(5,2)", "double", "double"),
        ("decimal(38,0)", "decimal(38,10)", "decimal(38,10)"),
        ("int", "string", None),
        ("timestamp", "long", None),
        ("date", "timestamp", None),
        ("bool", "int", None),
        ("decimal(5,2)", "string", None),
    ],
)
def test_common_types(a, b, expected):
    wanted = None if expected is None else parse_type(expected)
    assert common_type(parse_type(a), parse_type(b)) == wanted
    assert common_type(parse_type(b), parse_type(a)) == wanted


SITE = Schema((Field("ts", types.TIMESTAMP), Field("site", types.string(8)), Field("v", types.decimal(5, 2))))


@pytest.mark.parametrize(
    "spelling",
    [
        SITE,
        "ts timestamp, site string(8), v decimal(5,2)",
        "ts: timestamp , `site`  varchar(8),v NUMERIC( 5, 2 )",
        {"ts": "timestamp", "site": "string(8)", "v": "decimal(5,2)"},
        {"ts": types.TIMESTAMP, "site": types.string(8), "v": types.decimal(5, 2)},
        "ts TIMESTAMP NOT NULL COMMENT 'when, it\\'s said', site STRING(8) not null,v DECIMAL(5,2) COMMENT \"\"",
        {"ts": pa.timestamp("us", tz="UTC"), "site": "string(8)", "v": pa.decimal128(5, 2)},
    ],
)
def test_spellings_of_a_schema(spelling):
    assert schema(spelling) == SITE


def test_a_schema_is_written_as_it_is_read():
    assert str(SITE) == "ts timestamp, site string(8), v decimal(5,2)"
    assert schema(str(SITE)) == SITE
    assert SITE.names == ("ts", "site", "v") and len(SITE) == 3
    assert SITE["v"] == types.decimal(5, 2) and SITE.get("w") is None
    with pytest.raises(KeyError):
        SITE["w"]


def test_quoted_names_may_have_spaces():
    assert schema("`two words` int, `a, b` long").names == ("two words", "a, b")


def test_a_field_may_be_called_comment():
    assert schema("comment string, `not null` int").names == ("comment", "not null")


def test_a_type_of_arrow_that_would_lose_something_is_refused_in_a_dict_too():
    with pytest.raises(DiagramError, match="is not a field type"):
        schema({"ts": pa.timestamp("ns")})


def test_stime_has_another_name_where_a_field_has_its_own():
    assert SITE.stime_name == "stime"
    assert schema("stime long").stime_name == "__stime"


@pytest.mark.parametrize("field_type", [t for t in EVERY if t.size is None], ids=str)
def test_arrow_and_back(field_type):
    given = Schema((Field("a", field_type),))
    assert schema(arrow_schema(given)) == given


@pytest.mark.parametrize(
    ("arrow", "expected"),
    [
        (pa.timestamp("s"), types.TIMESTAMP),
        (pa.timestamp("ms", tz="Europe/Berlin"), types.TIMESTAMP),
        (pa.large_string(), types.STRING),
        (pa.string_view(), types.STRING),
        (pa.large_binary(), types.BINARY),
    ],
)
def test_other_types_of_arrow(arrow, expected):
    assert schema(pa.schema([("a", arrow)])) == Schema((Field("a", expected),))


@pytest.mark.parametrize(
    "arrow", [pa.timestamp("ns"), pa.uint64(), pa.list_(pa.int8()), pa.float16(), pa.decimal256(50, 0)]
)
def test_types_of_arrow_that_would_lose_something_are_refused(arrow):
    with pytest.raises(DiagramError, match="has no field type"):
        schema(pa.schema([("a", arrow)]))


@pytest.mark.parametrize(
    ("wrong", "count", "words"),
    [
        ("", 1, "is not 'name type'"),
        ("a", 1, "is not 'name type'"),
        ("a int,", 1, "is not 'name type'"),
        ("a int, a long", 1, "'a' is there twice"),
        ("__a int", 1, "reserved"),
        ("a list, b vector, c int", 2, "field 'a'"),
        ("a array<int, long>, b int", 1, "array or nested"),
        ({"a": 3}, 1, "3 is not a field type"),
        ({3: "int"}, 1, "the name of a field is a string"),
        ({"": "int"}, 1, "a field has no name"),
        (3, 1, "is not a schema"),
        (None, 1, "is not a schema"),
        (["a int"], 1, "is not a schema"),
    ],
)
def test_wrong_schemas_say_so(wrong, count, words):
    with pytest.raises(DiagramError, match=words) as caught:
        schema(wrong)
    assert len(caught.value.problems) == count


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3s", 3_000_000),
        (" 1.5 min ", 90_000_000),
        ("2 m", 120_000_000),
        ("500MS", 500_000),
        ("1.001s", 1_001_000),
        ("0.000001s", 1),
        ("7us", 7),
        ("1h", 3_600_000_000),
        ("2d", 172_800_000_000),
        (timedelta(seconds=1.5), 1_500_000),
    ],
)
def test_lengths_of_time(text, expected):
    assert microseconds(text) == expected


@pytest.mark.parametrize("wrong", ["", "3", "s", "3 weeks", "-1s", "1.5us", "1e3s", "3s 4s", 3, None, "٣x"])
def test_wrong_lengths_of_time(wrong):
    with pytest.raises(ValueError, match=r"length of time|whole number"):
        microseconds(wrong)


@given(st.integers(0, 10**15))
def test_a_length_is_read_as_it_is_spelt(us):
    assert microseconds(spell(us)) == us


@given(st.integers(0, 10**9), st.sampled_from(sorted(UNITS)), st.integers(0, 999))
def test_decimals_are_exact(whole, unit, thousandths):
    text = f"{whole}.{thousandths:03d}{unit}"
    exact = (whole * 1000 + thousandths) * UNITS[unit]
    if exact % 1000:
        with pytest.raises(ValueError, match="whole number"):
            microseconds(text)
    else:
        assert microseconds(text) == exact // 1000


@pytest.mark.parametrize(
    ("text", "meant"), [("timestmp", "timestamp"), ("Strng(8)", "string"), ("boolen", "bool"), ("bigintt", "long")]
)
def test_a_misspelt_type_suggests_the_nearest(text, meant):
    with pytest.raises(DiagramError) as caught:
        schema(f"a int, b {text}")
    (problem,) = caught.value.problems
    assert problem.next_step == f"did you mean {meant!r}?"


def test_what_is_near_to_no_type_suggests_none():
    with pytest.raises(DiagramError) as caught:
        schema("a quaternion")
    assert caught.value.problems[0].next_step == "choose one of these"


def test_a_name_in_another_case_is_the_nearest():
    assert nearest("V", ["ts", "k", "v"]) == "v"
    assert nearest("siteid", ["site", "SiteId"]) == "SiteId"
    assert nearest("Zz", ["ts", "k"]) is None
