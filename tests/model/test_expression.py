"""The expression language (X5): grammar and its precedence quirks, types, names, errors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auroral.model.errors import DiagramError
from auroral.model.expression import (
    BUILTINS,
    Expr,
    ExpressionError,
    Functions,
    Scope,
    bare_field,
    default_functions,
    fields_read,
    function,
    impure_functions,
    parse,
    parse_aggregate,
    register_function,
    resolve,
    sql,
    user_functions,
)
from auroral.model.expression import functions as registry
from auroral.model.expression.functions import make_function
from auroral.model.expression.singles import nearest_single, shortest_single
from auroral.model.expression.syntax import Binary, Call, If, Literal, Name, Node, Unary
from auroral.model.schema import schema

FIELDS = schema(
    "n byte, h short, i int, l long, f single, x double, s string(4), r string, t timestamp, c bool,"
    " d decimal(10,2), e decimal(38,10), g date, b binary"
)
SCOPE = Scope.of(FIELDS)


def _shape(node: Node) -> str:
    """The tree with all parentheses written out."""
    match node:
        case Literal():
            return repr(node.value)
        case Name():
            return f"{node.qualifier}.{node.name}" if node.qualifier else node.name
        case Unary():
            return f"({node.op} {_shape(node.operand)})"
        case Binary():
            return f"({_shape(node.left)} {node.op} {_shape(node.right)})"
        case If():
            return f"(if {_shape(node.condition)} then {_shape(node.then)} else {_shape(node.otherwise)})"
        case Call():
            return f"{node.name}({', '.join(_shape(arg) for arg in node.args)})"
        case _:
            return f"{node.array}->{node.name}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a or b and c", "(a or (b and c))"),
        ("a || b && !c", "(a or (b and (not c)))"),
        ("A OR b AND NOT c", "(A or (b and (not c)))"),
        ("a != b = c", "(a != (b = c))"),
        ("a = b != c = d", "((a = b) != (c = d))"),
        ("a = b < c", "(a = (b < c))"),
        ("a == b", "(a = b)"),
        ("a < b + 1", "(a < (b + 1))"),
        ("a - b - c", "((a - b) - c)"),
        ("a + b * c % d", "(a + ((b * c) % d))"),
        ("-a * b", "((- a) * b)"),
        ("a - -b", "(a - (- b))"),
        ("not a = b", "((not a) = b)"),
        ("!a!=b", "((not a) != b)"),
        ("a and b != c", "(a and (b != c))"),
        ("if a then b else c or d", "(if a then b else (c or d))"),
        ("if a then if b then 1 else 2 else 3", "(if a then (if b then 1 else 2) else 3)"),
        ("(if a then 1 else 2) + 3", "((if a then 1 else 2) + 3)"),
        ("1 + if a then 2 else 3 * b or c", "(1 + (if a then 2 else ((3 * b) or c)))"),
        ("a and not if b then c else d", "(a and (not (if b then c else d)))"),
        ("left.x = right.x", "(left.x = right.x)"),
        ("arr->x + 1", "(arr->x + 1)"),
        ("field(\"odd name\") + left.field('if')", "(odd name + left.if)"),
        ("MIN(a, Pad(b, 3))", "min(a, pad(b, 3))"),
        ("now()", "now()"),
        ("ifx + iff + nota + order", "(((ifx + iff) + nota) + order)"),
    ],
)
def test_precedence(text: str, expected: str) -> None:
    assert _shape(parse(text).root) == expected


@pytest.mark.parametrize(
    ("text", "value", "type"),
    [
        ("12", 12, "int"),
        ("2147483648", 2**31, "long"),
        ("007", 7, "int"),
        ("1.5", 1.5, "double"),
        ("1.", 1.0, "double"),
        (".5e-1", 0.05, "double"),
        ("2d", 2.0, "double"),
        ("0.1f", nearest_single(0.1), "single"),
        ("1E3F", 1000.0, "single"),
        ("TRUE", True, "bool"),
        ("'it''s'", "it's", "string(4)"),
        (r'"a\"b\\""c\n\u00e9\q"', 'a"b\\"c\néq', "string(9)"),
        ("''", "", "string(1)"),
    ],
)
def test_literals(text: str, value: Any, type: str) -> None:
    typed: Any = resolve(parse(text), SCOPE)
    assert typed.value == value
    assert str(typed.type) == type


def test_fold_case_spares_string_literals() -> None:
    tree = parse("Left.Price + PAD('ABC', 3) + Field('Odd Name')", fold_case=True).root
    assert _shape(tree) == "((left.price + pad('ABC', 3)) + odd name)"
    assert _shape(parse("Price").root) == "Price"


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("n + n", "int"),
        ("-h", "int"),
        ("i + l", "long"),
        ("l + f", "single"),
        ("l + x", "double"),
        ("f * f", "single"),
        ("f * 1.5", "single"),
        ("f + -1.5", "single"),
        ("+1.5 - f", "single"),
        ("f * 1.5d", "double"),
        ("f * double(1.5)", "double"),
        ("f + 1e300", "double"),
        ("f + 1e-300", "double"),
        ("x * 1.5", "double"),
        ("if c then f else 0.0", "single"),
        ("if c then f else 0.0d", "double"),
        ("max(f, 0.5, -0.5)", "single"),
        ("pow(f, 0.1)", "double"),
        ("i / i", "int"),
        ("n % h", "int"),
        ("d + d", "decimal(11,2)"),
        ("d + 1", "decimal(11,2)"),
        ("d * i", "decimal(21,2)"),
        ("e + e", "decimal(38,9)"),
        ("e * e", "decimal(38,6)"),
        ("d / 2", "double"),
        ("d % d", "double"),
        ("d + x", "double"),
        ("s + s", "string(8)"),
        ("s + r", "string"),
        ("t - t", "long"),
        ("t - 5", "timestamp"),
        ("i + t", "timestamp"),
        ("i = l", "bool"),
        ("g < g", "bool"),
        ("stime", "long"),
        ("if c then n else h", "short"),
        ("if c then null else d", "decimal(10,2)"),
        ("min(n, 1.5)", "double"),
        ("max(s, 'abcdef')", "string(6)"),
        ("abs(n)", "int"),
        ("abs(d)", "decimal(10,2)"),
        ("strlen(s)", "int"),
        ("pad(s, 9)", "string(9)"),
        ("pad(r, 9)", "string"),
        ("byte(x)", "byte"),
        ("long(t)", "long"),
        ("string(i)", "string"),
        ("single(null)", "single"),
        ("floor(i)", "double"),
        ("pow(i, 2)", "double"),
        ("now()", "double"),
        ("now(1.5)", "double"),
        ("rand()", "double"),
        ("sequence()", "long"),
        ("not null", "bool"),
    ],
)
def test_result_types(text: str, type: str) -> None:
    assert str(resolve(parse(text), SCOPE).type) == type


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the expression is empty"),
        ("i +", "ends too early, at column 4"),
        ("i l", "'l' cannot stand here, at column 3"),
        ("(i", "allowed: ')'"),
        ("'abc", "has no end"),
        ("12abc", "not a number"),
        ("i <> l", "write !="),
        ("i & l", "write &&"),
        ("1 if c then 1 else 2", "'if' cannot stand here, at column 3"),
        ("if c then 1", "ends too early"),
        ("99999999999999999999", "too large for a long"),
        ("9223372036854775808", "too large for a long"),
        ("1e999", "too large for a double"),
        ("1e39f", "too large for a single"),
        (r"'\ud800'", "surrogate"),
        ("'\ud800'", "surrogate"),
        ("field(i)", "in quotes"),
        ("left.abs('x')", "is not a function"),
        ("arr->x", "arr->x reads an array, and arrays are not supported"),
        ("xx", "did you mean 'x'?"),
        ("lef.i", "no name of its own"),
        ("sqr(x)", "did you mean 'sqrt'?"),
        ("LRSecToMin(i)", "register_function"),
        ("overlap1(x, x)", "register_function"),
        ("contained2(x)", "register_function"),
        ("not i = 1", r"write not (a = b)"),
        ("s + 1", "string(x) for integers"),
        ("t > '2020-01-01'", "compare timestamps with timestamps"),
        ("i and c", "and does not work between an int and a bool"),
        ("if i then 1 else 2", "if takes a condition, not an int"),
        ("if c then 1 else s", "the branches of if have different types"),
        ("null", "null alone has no type"),
        ("null + null", "null + null has no type"),
        ("s = null", "= null never holds"),
        ("null != i", "!= null never holds"),
        ("i < null", "< null never holds"),
        ("1 < i < 3", "1 < x and x < 3"),
        ("i = 1 = 2", "1 < x and x < 3"),
        ("-s", "the sign - takes a number"),
        ("-null", "the sign - takes a number, not null"),
        ("string(x)", "spelt differently"),
        ("int(c)", "takes a number or a string"),
        ("strlen(i)", "given is (int)"),
        ("min(i)", "at least two values"),
        ("pad(s)", "pad takes (string, int)"),
        ("abs(s)", "takes one number"),
        ("g + 1", "+ does not work between a date and an int"),
        ("e = e * d", "need more than 38 digits"),
        ("x" * 65537, "65,537 characters"),
        ("i" + " + i" * 200, "nested deeper than 200"),
        ("-" * 60000 + "i", "nested deeper than 200"),
        ("x / (" * 40 + "x" + ")" * 40, "count as 6"),
    ],
)
def test_errors_say_what_where_and_what_next(text: str, message: str) -> None:
    with pytest.raises(ExpressionError) as raised:
        resolve(parse(text), SCOPE)
    assert message in str(raised.value)
    assert raised.value.text == text


def test_all_type_errors_come_at_once_in_order() -> None:
    with pytest.raises(ExpressionError) as raised:
        resolve(parse("nope + arr->x + sqr(missing) + -s"), SCOPE)
    whats = [problem.what.split(",")[0] for problem in raised.value.problems]
    assert whats == [
        "unknown field 'nope'",
        "arr->x reads an array",
        "unknown function 'sqr'",
        "unknown field 'missing'",
        "the sign - takes a number",
    ]


def test_an_error_points_into_the_text() -> None:
    with pytest.raises(ExpressionError) as raised:
        resolve(parse("bytes + i"), SCOPE)
    lines = str(raised.value).splitlines()
    assert lines[0] == "unknown field 'bytes', at column 1:"
    assert (lines[1].strip(), lines[2].strip()) == ("bytes + i", "^")
    assert "allowed: n, h, i" in lines[3]


def test_parentheses_do_not_count_as_depth() -> None:
    assert parse("(" * 30000 + "i" + ")" * 30000).root == Name(30000, None, "i")


def test_long_chains_of_or_are_shallow() -> None:
    typed = resolve(parse(" or ".join(f"i = {k}" for k in range(3000))), SCOPE)
    assert str(typed.type) == "bool"


def test_the_deepest_expression_resolves() -> None:
    assert str(resolve(parse("int(1.5 + " * 99 + "i" + ")" * 99), SCOPE).type) == "int"


@given(st.text(alphabet="ab1.5eEfd+-*/%=!<>&|()'\"\\, \nifthenelsornotul\u00e9→", max_size=40))
def test_no_text_gives_anything_but_a_tree_or_an_expression_error(text: str) -> None:
    try:
        found: Expr | ExpressionError = parse(text)
    except ExpressionError as error:
        found = error
    assert found.text == text


def test_qualified_and_ambiguous_names() -> None:
    scope = Scope.named(left=schema("k int, a int"), right=schema("k int, stime string"))
    assert fields_read(resolve(parse("a + left.k * right.k"), scope)) == {
        ("left", "a"), ("left", "k"), ("right", "k"),
    }  # fmt: skip
    assert str(resolve(parse("left.stime"), scope).type) == "long"
    assert str(resolve(parse("right.stime"), scope).type) == "string"
    assert str(resolve(parse("stime"), scope).type) == "string"
    wrong = [("k", "left.k, right.k"), ("rigth.k", "did you mean 'right'"), ("left.b", "k, a, stime")]
    for text, message in wrong:
        with pytest.raises(ExpressionError, match=message):
            resolve(parse(text), scope)


def test_what_can_be_asked_of_a_typed_tree() -> None:
    typed = resolve(parse("rand() + sequence() + rand() + x + stime"), SCOPE)
    assert impure_functions(typed) == ("rand", "sequence")
    assert fields_read(typed) == {(None, "x"), (None, "stime")}
    assert bare_field(typed) is None
    field = bare_field(resolve(parse("(x)"), SCOPE))
    assert field is not None
    assert field.name == "x"


def test_sql_keeps_text_and_declared_type() -> None:
    expression = sql("regexp_replace(s, 'a', 'b')", "string")
    resolved = resolve(expression, SCOPE)
    assert str(resolved) == str(expression) == "regexp_replace(s, 'a', 'b')"
    assert str(resolved.type) == "string"
    assert fields_read(resolved) == {(None, "s")}
    assert impure_functions(resolved) == ()
    with pytest.raises(ExpressionError, match="not a field type"):
        sql("a", "stringg")
    with pytest.raises(ExpressionError, match="empty"):
        sql(" ", "int")


def test_user_functions() -> None:
    half = make_function("Half", lambda v: v / 2, "int", "double")
    functions = Functions().plus(half)
    typed = resolve(parse("HALF(n) + half(null)"), SCOPE, functions)
    assert user_functions(typed) == (half,)
    assert str(half) == "half(int) -> double"
    with pytest.raises(ExpressionError, match=r"half takes \(int\); given is \(long\)"):
        resolve(parse("half(l)"), SCOPE, functions)


def test_registering_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_default", Functions())
    before = default_functions()

    @function("int, decimal(10,2) -> double")
    def scaled(a: int, b: Any) -> float:
        return a * float(b)

    register_function("zero", None, "", "int")
    assert [str(f) for f in default_functions().values()] == [
        "scaled(int, decimal(10,2)) -> double",
        "zero() -> int",
    ]
    assert len(before) == 0
    assert str(resolve(parse("scaled(i, d) + zero()"), SCOPE).type) == "double"
    for name, args in [("abs", "int"), ("If", "int"), ("two words", "int"), ("fine", "intt")]:
        with pytest.raises(DiagramError):
            register_function(name, None, args, "int")
    with pytest.raises(DiagramError, match="signature"):
        function("int")
    with pytest.raises(DiagramError, match="signature"):
        function(scaled)  # type: ignore[arg-type]  # the decorator without its parentheses


@pytest.mark.parametrize(
    ("text", "name", "args"),
    [
        ("Sum(bytes * 8)", "sum", ["(bytes * 8)"]),
        ("count()", "count", []),
        ("count(*)", "count", []),
        ("count(x)", "count", ["x"]),
        ("count_distinct(x)", "count_distinct", ["x"]),
        ("min(x)", "min", ["x"]),
        ("LRavg(a, b + 1)", "lravg", ["a", "(b + 1)"]),
    ],
)
def test_aggregate_calls(text: str, name: str, args: list[str]) -> None:
    call = parse_aggregate(text)
    assert (call.name, [_shape(arg.root) for arg in call.args]) == (name, args)
    assert call.at == 0


@pytest.mark.parametrize("text", ["sum(*)", "sum", "sum(x) + 1", "x + 1", "sum(x", ""])
def test_wrong_aggregate_calls(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse_aggregate(text)


def test_every_builtin_says_how_it_is_used() -> None:
    assert all(b.usage.startswith(name + "(") and b.meaning for name, b in BUILTINS.items())


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_singles_read_back_from_their_shortest_text(value: float) -> None:
    assert nearest_single(float(shortest_single(value))) == value
