"""Worked values of expressions, and the fields that they are over."""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from typing import Any

from auroral.model.expression import Functions, Scope, Typed, parse, resolve
from auroral.model.expression.builtins import TRIGONOMETRIC
from auroral.model.expression.functions import make_function
from auroral.model.schema import schema

FIELDS = schema(
    "n byte, h short, i int, j int, l long, f single, x double, y double, s string(20), r string,"
    " t timestamp, u timestamp, c bool, k bool, d decimal(10,2), e decimal(38,10), g date, b binary, z binary"
)

INF, NAN = math.inf, math.nan
BIG, LONGEST, LOWEST = 2**31 - 1, 2**63 - 1, -(2**63)
SCOPE = Scope.of(FIELDS)
USER = Functions().plus(
    make_function("Twice", lambda a, b: None if a is None else a * 2.0 + len(b or ""), "int, string", "double")
)

# Expression, fields that are not null, value.
VECTORS: list[tuple[str, dict[str, Any], Any]] = [
    # integers: promotion, wrapping, division towards zero, NULL for a zero divisor
    ("i + j", {"i": BIG, "j": 1}, -(2**31)),
    ("l + 1", {"l": LONGEST}, LOWEST),
    ("l - 1", {"l": LOWEST}, LONGEST),
    ("l * 2", {"l": LONGEST}, -2),
    ("n + n", {"n": 127}, 254),
    ("n * h", {"n": -128, "h": 32767}, -4194176),
    ("-n", {"n": -128}, 128),
    ("-i", {"i": -(2**31)}, -(2**31)),
    ("+h", {"h": 5}, 5),
    ("- - i", {"i": 5}, 5),
    ("i - -5", {"i": 1}, 6),
    ("i / j", {"i": -7, "j": 2}, -3),
    ("i / j", {"i": 7, "j": 0}, None),
    ("i / j", {"i": -(2**31), "j": -1}, -(2**31)),
    ("l / -1", {"l": LOWEST}, LOWEST),
    ("i % j", {"i": -7, "j": 2}, -1),
    ("i % j", {"i": 7, "j": -2}, 1),
    ("i % 0", {"i": 7}, None),
    ("n % n", {"n": 7}, 0),
    ("i + null", {"i": 7}, None),
    ("-2147483648", {}, -(2**31)),
    ("-9223372036854775808", {}, LOWEST),
    # floats
    ("x / y", {"x": 1.0, "y": 0.0}, INF),
    ("x / y", {"x": 1.0, "y": -0.0}, INF),
    ("x / y", {"x": -1.0, "y": 0.0}, -INF),
    ("x / y", {"x": 0.0, "y": 0.0}, NAN),
    ("x / y", {"x": NAN, "y": 0.0}, NAN),
    ("x / y", {"x": 1.0}, None),
    ("x / y", {"y": 0.0}, None),
    ("x / 0", {"x": -2.0}, -INF),
    ("x / i", {"x": 1.0, "i": 0}, INF),
    ("f / 3", {"f": 1.0}, struct.unpack("f", struct.pack("f", 1 / 3))[0]),
    ("f / i", {"f": -1.0, "i": 0}, -INF),
    ("x % y", {"x": -7.5, "y": 2.0}, -1.5),
    ("x % y", {"x": 7.5, "y": 0.0}, None),
    ("x % y", {"x": INF, "y": 2.0}, NAN),
    ("0.1f + 0.2f", {}, struct.unpack("f", struct.pack("f", 0.30000001192092896))[0]),
    ("f * f", {"f": 3e38}, INF),
    ("l + f", {"l": 2**53 + 2**29 + 1, "f": 0.0}, 9007200328482816.0),
    ("-x", {"x": 0.0}, -0.0),
    ("-0.0", {}, -0.0),
    ("1e16 + 1.5d", {}, 1e16 + 1.5),
    # decimals
    ("d + 1", {"d": Decimal("99999999.99")}, Decimal("100000000.99")),
    ("d - d", {"d": Decimal("1.25")}, Decimal("0.00")),
    ("d * i", {"d": Decimal("-1.25"), "i": 3}, Decimal("-3.75")),
    ("e * e", {"e": Decimal("1e27")}, None),
    ("e * e", {"e": Decimal("1.0000005")}, Decimal("1.000001")),
    ("e + e", {"e": Decimal("9" * 28 + ".9999999999")}, Decimal("2" + "0" * 28 + ".000000000")),
    ("-e", {"e": Decimal("9" * 28 + ".9999999999")}, Decimal("-" + "9" * 28 + ".9999999999")),
    ("abs(e)", {"e": Decimal("-" + "9" * 28 + ".9999999999")}, Decimal("9" * 28 + ".9999999999")),
    ("-e", {"e": Decimal("-0.0000000001")}, Decimal("0.0000000001")),
    ("abs(e)", {"e": Decimal("-0.0000000001")}, Decimal("0.0000000001")),
    ("d / 0", {"d": Decimal("1.00")}, INF),
    ("d / 8", {"d": Decimal("1.00")}, 0.125),
    ("d % 2", {"d": Decimal("-3.50")}, -1.5),
    ("d > 5", {"d": Decimal("5.01")}, True),
    ("d = -5", {"d": Decimal("-5.00")}, True),
    ("d = 0.25", {"d": Decimal("0.25")}, True),
    # strings
    ("s + ' ' + r", {"s": "né", "r": "😀"}, "né 😀"),
    ("s + r", {"s": "a"}, None),
    (r"'a\'b' + 'it''s' + "
     r'"q\"x" + "\\n\n${env:HOME}"', {}, "a'bit'sq\"x\\n\n${env:HOME}"),
    (r"'\u0000' + '12%_\\%'", {}, "\x0012%_\\%"),
    ("'${'", {}, "${"),
    ("strlen(s)", {"s": "né😀"}, 3),
    ("pad(s, 4)", {"s": "né"}, "né  "),
    ("pad(s, 1)", {"s": "né"}, "né"),
    ("pad(s, -1)", {"s": "né"}, "né"),
    ("pad(s, i)", {"s": "né", "i": -(2**31)}, "né"),
    ("pad(s, i)", {"s": "né", "i": 3}, "né "),
    ("strlen(pad(s, i))", {"s": "né", "i": BIG}, 65536),
    ("pad(s, i)", {"s": "né"}, None),
    # timestamps
    ("t - u", {"t": 5_000_000, "u": 7}, 4_999_993),
    ("t + 1", {"t": 5}, 6),
    ("1 + t", {"t": 5}, 6),
    ("t - l", {"t": 5, "l": 6}, -1),
    ("t + l", {"t": 5, "l": LONGEST}, LOWEST + 4),
    ("t < u", {"t": 5, "u": 6}, True),
    ("long(t)", {"t": -5}, -5),
    ("stime / 1000", {"stime": 1_700_000_000_000_000}, 1_700_000_000_000),
    # comparisons
    ("x = y", {"x": NAN, "y": NAN}, True),
    ("x > y", {"x": NAN, "y": INF}, True),
    ("x < y", {"x": NAN, "y": 1.0}, False),
    ("x = y", {"x": 0.0, "y": -0.0}, True),
    ("x < y", {"x": -0.0, "y": 0.0}, False),
    ("x != y", {"x": 0.0, "y": -0.0}, False),
    ("x >= y", {"x": NAN, "y": NAN}, True),
    ("x <= i", {"x": 2.5, "i": 2}, False),
    ("n = n", {"n": 1}, True),
    ("s < r", {"s": "\uffff", "r": "😀"}, True),
    ("c = k", {"c": True, "k": False}, False),
    ("c > k", {"c": True, "k": False}, True),
    ("b < z", {"b": b"\x7f", "z": b"\x80"}, True),
    ("g = g", {"g": -1}, True),
    ("i = int(null)", {"i": 1}, None),
    ("i = 1 != c", {"i": 1, "c": True}, False),
    ("not (i = 1)", {"i": 2}, True),
    # logic
    ("c and k", {"c": False}, False),
    ("c and k", {"c": True}, None),
    ("c or k", {"c": True}, True),
    ("c || k", {"c": False}, None),
    ("!c && k", {"c": False, "k": True}, True),
    ("not c", {}, None),
    ("null or true", {}, True),
    # choices
    ("if c then 1 else 2.5", {}, 2.5),
    ("if c then 1 else 2.5", {"c": True}, 1.0),
    ("if i > 0 then 'pos' else if i < 0 then 'neg' else 'zero'", {"i": -1}, "neg"),
    ("if c then null else i", {"i": 3}, 3),
    # conversions
    ("int(x)", {"x": -1.9}, -1),
    ("int(x)", {"x": 1e300}, BIG),
    ("int(x)", {"x": NAN}, 0),
    ("long(x)", {"x": -INF}, LOWEST),
    ("byte(x)", {"x": 300.7}, 44),
    ("short(x)", {"x": 1e300}, -1),
    ("byte(i)", {"i": 200}, -56),
    ("int(l)", {"l": 2**32 + 5}, 5),
    ("int(d)", {"d": Decimal("-1.99")}, -1),
    ("byte(e)", {"e": Decimal("1e20")}, 0),
    ("int(s)", {"s": " \t-12\n"}, -12),
    ("int(s)", {"s": "1.5"}, None),
    ("int(s)", {"s": "2147483648"}, None),
    ("byte(s)", {"s": "128"}, None),
    ("long(s)", {"s": "+0000000000000000000000012"}, 12),
    ("long(s)", {"s": ""}, None),
    ("double(s)", {"s": " 1.5e3 "}, 1500.0),
    ("double(s)", {"s": "1e999"}, INF),
    ("double(s)", {"s": "1d"}, None),
    ("double(s)", {"s": "NaN"}, None),
    ("double(s)", {"s": "0x1p3"}, None),
    ("double(s)", {"s": "12\u0085"}, None),
    ("single(s)", {"s": ".1"}, 0.10000000149011612),
    ("f = 0.1", {"f": 0.10000000149011612}, True),
    ("f = 0.1d", {"f": 0.10000000149011612}, False),
    ("f * 1.1", {"f": 1.5}, 1.6500000953674316),
    ("f < -0.1", {"f": -0.10000000149011612}, False),
    ("single(x)", {"x": 1e39}, INF),
    ("single(l)", {"l": 2**53 + 2**29 + 1}, 9007200328482816.0),
    ("single(d)", {"d": Decimal("0.10")}, 0.10000000149011612),
    ("double(f)", {"f": 0.10000000149011612}, 0.10000000149011612),
    ("string(l)", {"l": LOWEST}, "-9223372036854775808"),
    ("string(s)", {"s": "a"}, "a"),
    ("int(null)", {}, None),
    # functions
    ("min(i, x, 3)", {"i": 5, "x": NAN}, 3.0),
    ("max(i, x, 3)", {"i": 5, "x": NAN}, NAN),
    ("min(i, j)", {"i": 5}, None),
    ("max(0.0, -0.0)", {}, 0.0),
    ("min(x, y)", {"x": -0.0, "y": 0.0}, -0.0),
    ("max(s, 'b')", {"s": "a"}, "b"),
    ("abs(n)", {"n": -128}, 128),
    ("abs(i)", {"i": -(2**31)}, -(2**31)),
    ("abs(x)", {"x": -0.0}, 0.0),
    ("abs(d)", {"d": Decimal("-1.50")}, Decimal("1.50")),
    ("ln(x)", {"x": 0.0}, -INF),
    ("ln(x)", {"x": -1.0}, NAN),
    ("ln(x)", {"x": 1.0}, 0.0),
    ("ln(x)", {"x": NAN}, NAN),
    ("ln(x)", {}, None),
    ("log(x)", {"x": 1000.0}, 3.0),
    ("log(i)", {"i": 0}, -INF),
    ("sqrt(x)", {"x": -1.0}, NAN),
    ("sqrt(i)", {"i": 16}, 4.0),
    ("exp(x)", {"x": 1000.0}, INF),
    ("exp(x)", {"x": 0.0}, 1.0),
    ("acos(x)", {"x": 1.0}, 0.0),
    ("acos(x)", {"x": 1.5}, NAN),
    ("asin(x)", {"x": -1.5}, NAN),
    ("asin(x)", {"x": 1.0}, math.asin(1.0)),
    ("atan(x)", {"x": INF}, math.pi / 2),
    ("cos(x)", {"x": INF}, NAN),
    ("cos(x)", {"x": 0.0}, 1.0),
    ("cosh(x)", {"x": -1000.0}, INF),
    ("sin(x)", {"x": 1.0}, math.sin(1.0)),
    ("sinh(x)", {"x": -1000.0}, -INF),
    ("tan(x)", {"x": 1.0}, math.tan(1.0)),
    ("tanh(x)", {"x": INF}, 1.0),
    ("pow(x, y)", {"x": 2.0, "y": -1.0}, 0.5),
    ("pow(x, y)", {"x": -8.0, "y": 1 / 3}, NAN),
    ("pow(x, y)", {"x": -0.0, "y": -3.0}, -INF),
    ("pow(x, y)", {"x": -10.0, "y": 309.0}, -INF),
    ("pow(x, y)", {"x": 1.0, "y": INF}, NAN),
    ("pow(x, y)", {"x": NAN, "y": 0.0}, 1.0),
    ("atan2(x, y)", {"x": 1.0, "y": -1.0}, 3 * math.pi / 4),
    ("atan2(x, y)", {"x": -0.0, "y": -1.0}, math.pi),
    ("atan2(x, y)", {"x": 0.0, "y": -0.0}, 0.0),
    ("atan2(x, y)", {"x": -INF, "y": INF}, -math.pi / 4),
    ("atan2(x, i)", {"x": NAN, "i": 1}, NAN),
    ("atan2(x, y)", {"x": 1.0}, None),
    ("floor(x)", {"x": -0.5}, -1.0),
    ("floor(x)", {"x": -0.0}, 0.0),
    ("floor(x)", {"x": 1e300}, 1e300),
    ("floor(i)", {"i": -3}, -3.0),
    ("ceil(x)", {"x": -0.5}, 0.0),
    ("ceil(x)", {"x": 4503599627370495.5}, 4503599627370496.0),
    ("ceil(x)", {"x": -INF}, -INF),
    ("ceil(d)", {"d": Decimal("1.01")}, 2.0),
]  # fmt: skip

# Here Java's and C's libraries may differ in the last bit.
OF_TWO = ("pow", "atan2")
INEXACT = (*TRIGONOMETRIC, "ln", "log", "exp", *OF_TWO)


def typed_as(text: str) -> Typed:
    return resolve(parse(text), SCOPE, USER)


def backquoted(_qualifier: str | None, name: str) -> str:
    return f"`{name}`"
