"""Exact floating sums in Spark SQL: integer digits on a fixed grid, rounded once at the end.

Plain double sums depend on the order of addition, and so on partitions and on how buckets are grouped. Here each double is
split without loss into five digits of 32 bits: in bin b, x is the sum of d4..d0 times 2^p, 2^(p-32), .. 2^(p-128), with
p = 32b + 21. Digits of equal bin are summed as integers, which is exact in any order. Bin 0 takes magnitudes from 2^-54 to
2^53 (and zero): in nearly all data no value needs another bin. Sums hold for up to 2^28 values a group, however large.
"""

from __future__ import annotations

from collections.abc import Iterator

_HALF, _BASE = 1 << 31, 1 << 32

DIGITS = ("d4", "d3", "d2", "d1", "d0")

MANY_BINS = "AURORAL_MANY_BINS"
"""What a job's error says when a value needs another bin and the statement was compiled for bin 0 alone."""

_SMALLEST, _LARGEST = "5.551115123125783E-17D", "9007199254740991D"
"""What bin 0 takes, besides zero."""

_INFINITY, _NAN = "double('Infinity')", "double('NaN')"


def finite(x: str) -> str:
    """x where it can be split into digits, else zero: NaN and infinities are counted by `special`, nulls add nothing."""
    return f"IF(abs({x}) < {_INFINITY}, {x}, 0D)"


def special(x: str) -> str:
    """1 for +infinity, 2 for -infinity, 4 for NaN, else 0; `bit_or` of these says what a sum that has them is."""
    return f"CASE WHEN abs({x}) < {_INFINITY} THEN 0 WHEN isnan({x}) THEN 4 WHEN {x} > 0 THEN 1 WHEN {x} < 0 THEN 2 ELSE 0 END"


def special_or_other_bin(x: str) -> str:
    """The same, and 8 for a number that bin 0 does not take."""
    return f"CASE WHEN {x} IS NULL OR {_in_bin_zero(x)} THEN 0 WHEN abs({x}) < {_INFINITY} THEN 8 ELSE {special(x)} END"


def _in_bin_zero(x: str) -> str:
    return f"{x} = 0 OR abs({x}) BETWEEN {_SMALLEST} AND {_LARGEST}"


def bin_of(x: str) -> str:
    """The bin of a finite double. A logarithm that is off in its last place moves x to a neighbouring bin: no harm."""
    return f"IF({_in_bin_zero(x)}, 0, CAST(floor((log2(abs({x})) + 11) / 32) AS INT))"


def shifted(x: str, b: str) -> str:
    """x as if it were of bin 0: multiplications by powers of two, in halves that neither overflow nor underflow."""
    return f"IF({b} = 0, {x}, {x} * pow(2D, -16 * {b}) * pow(2D, -16 * {b}))"


def in_bin_zero_or_zero(x: str) -> str:
    """x where bin 0 takes it; elsewhere 0, and `special` says so."""
    return f"IF(abs({x}) BETWEEN {_SMALLEST} AND {_LARGEST}, {x}, 0D)"


def digits(v: str) -> list[str]:
    """The five digits of a value of bin 0, all of its sign, each by itself: remainders of doubles are exact."""
    lower = [f"CAST({v} * {2.0**power!r}D % {_BASE}D AS BIGINT)" for power in (11, 43, 75, 107)]
    return [f"CAST({v} * {2.0**-21!r}D AS BIGINT)", *lower]


def digit_steps(v: str, prefix: str) -> Iterator[list[tuple[str, str]]]:
    """The same digits one after the other, as columns (name, text) that use those of the step before.

    Remainders of doubles are slow in the JVM: over many rows these steps take a third of the time, in a longer statement.
    """
    rest = f"{v} * {2.0**-21!r}D"
    for digit in DIGITS:
        yield [(f"{prefix}r{digit}", rest), (f"{prefix}{digit}", f"CAST({rest} AS BIGINT)")]
        rest = f"({prefix}r{digit} - {prefix}{digit}) * {_BASE}D"


def total_of_bin_zero(prefix: str) -> str:
    """The sum of bin 0's digits as the nearest double: one decimal integer, converted once.

    Where the upper three digits have 55 bits or more, all that the lower two can do is break a tie; otherwise all fit.
    """
    d4, d3 = (f"CAST({prefix}{d} AS DECIMAL(38,0))" for d in ("d4", "d3"))
    carried = f"({prefix}d1 + shiftright({prefix}d0, 32))"
    upper = f"({d4} * {_BASE**2} + {d3} * {_BASE} + ({prefix}d2 + shiftright({carried}, 32)))"
    low1, low0 = f"({carried} & {_BASE - 1}L)", f"({prefix}d0 & {_BASE - 1}L)"
    large = f"CAST({upper} * 4 + IF({low1} + {low0} > 0, 1, 0) AS DOUBLE) * {2.0**-45!r}D"
    small = f"CAST({upper} * {_BASE**2} + CAST({low1} AS DECIMAL(38,0)) * {_BASE} + {low0} AS DOUBLE) * {2.0**-107!r}D"
    return f"IF(abs({upper}) >= {1 << 55}, {large}, {small})"


def _let(name: str, value: str, body: str) -> str:
    """`body` with `name` standing for `value`, computed once."""
    return f"transform(array({value}), {name} -> {body})[0]"


def normalised(parts: str) -> str:
    """SQL for the top balanced digits of a sum over bins: STRUCT<t2, t1, t0, u1, u0, sticky, scale>.

    `parts` is an array of STRUCT<b, d4, .. d0>. The sum is (t2 * 2^64 + t1 * 2^32 + t0 + something of sign `sticky` below half a
    unit) * 2^scale, with t2 <> 0 unless the sum is zero. Carries run through two positions above the highest bin, which take any
    63-bit sum; four zero digits below the lowest let the top five (u1 and u0 lie below t0) always be taken by index.
    """
    bins = f"transform({parts}, part -> part.b)"
    digit = "CASE i + low WHEN part.b THEN part.d4 WHEN part.b - 1 THEN part.d3 WHEN part.b - 2 THEN part.d2 "
    digit += "WHEN part.b - 3 THEN part.d1 WHEN part.b - 4 THEN part.d0 ELSE 0L END"
    positions = (
        f"transform(sequence(0, array_max({bins}) - low + 2), i -> aggregate({parts}, 0L, (s, part) -> s + {digit}))"
    )
    carried = (
        f"aggregate({positions}, named_struct('c', 0L, 'out', array(0L, 0L, 0L, 0L)), (a, d) -> named_struct("
        f"'c', shiftright(a.c + d + {_HALF}L, 32), "
        f"'out', array_append(a.out, ((a.c + d + {_HALF}L) & {_BASE - 1}L) - {_HALF}L))).out"
    )
    highest = "greatest(4, array_max(transform(o, (d, i) -> IF(d <> 0, i, -1))))"
    sticky = "CAST(aggregate(slice(o, 1, k - 2), 0L, (s, d) -> IF(d <> 0, CAST(sign(d) AS BIGINT), s)) AS INT)"
    top = f"named_struct('t2', o[k], 't1', o[k - 1], 't0', o[k - 2], 'u1', o[k - 3], 'u0', o[k - 4], 'sticky', {sticky}, 'scale', 32 * (low + k - 6) + 21)"
    return _let("low", f"array_min({bins}) - 4", _let("o", carried, _let("k", highest, top)))


def rounded(n: str) -> str:
    """The double nearest to a normalised sum: one decimal integer, converted once, then scaled by a power of two."""
    whole = f"CAST({n}.t2 AS DECIMAL(38,0)) * {_BASE**2 * 4} + CAST({n}.t1 AS DECIMAL(38,0)) * {_BASE * 4} + {n}.t0 * 4L + {n}.sticky"
    return (
        f"CAST({whole} AS DOUBLE) * pow(2D, ({n}.scale - 2) DIV 2) * pow(2D, ({n}.scale - 2) - ({n}.scale - 2) DIV 2)"
    )


def total(parts: str) -> str:
    """The exact sum over bins, as the nearest double."""
    return _let("n", normalised(parts), rounded("n"))


def with_special(value: str, flags: str) -> str:
    """The sum, unless special values make it one; a value of another bin stops the job."""
    return (
        f"CASE {flags} WHEN 0 THEN {value} WHEN 1 THEN {_INFINITY} WHEN 2 THEN double('-Infinity') "
        f"ELSE IF({flags} < 8, {_NAN}, CAST(raise_error('{MANY_BINS}') AS DOUBLE)) END"
    )


def _high_low(parts: str) -> str:
    """The sum as two doubles, STRUCT<h, l>, of together about 106 bits."""
    unit = "pow(2D, n.scale DIV 2) * pow(2D, n.scale - n.scale DIV 2)"
    # Three digits are 65 bits at worst, too few for a small variance of large values: the next two count as well.
    below = f"(n.u1 + n.u0 * {2.0**-32!r}D) * {2.0**-32!r}D * {unit}"
    low = f"((n.t2 * {_BASE**2}D * {unit} - h) + n.t1 * {_BASE}D * {unit}) + n.t0 * {unit} + {below}"
    return _let("n", normalised(parts), _let("h", rounded("n"), f"named_struct('h', h, 'l', {low})"))


def product_error(a: str, b: str) -> str:
    """a * b - fl(a * b), exactly (Dekker), for magnitudes below 2^500."""
    top_a, top_b = (f"({v} * 134217729D - ({v} * 134217729D - {v}))" for v in (a, b))
    low_a, low_b = f"({a} - {top_a})", f"({b} - {top_b})"
    return f"((({top_a} * {top_b} - {a} * {b}) + {top_a} * {low_b} + {low_a} * {top_b}) + {low_a} * {low_b})"


def variance(values: str, squares: str, errors: str, n: str) -> str:
    """The sample variance from exact sums of x and of x^2 = square + error: n * sum(x^2) - sum(x)^2 in doubled precision."""
    count = f"CAST({n} AS DOUBLE)"
    difference = f"({count} * q.h - s.h * s.h) + ({product_error(count, 'q.h')} - {product_error('s.h', 's.h')} + {count} * q.l - 2D * s.h * s.l - s.l * s.l)"
    # What doubled precision cannot tell from nothing is nothing: equal values have no deviation.
    cleaned = _let("v", difference, f"IF(v < {count} * q.h * {2.0**-103!r}D, 0D, v)")
    numerator = _let("s", _high_low(values), _let("q", _high_low(f"concat({squares}, {errors})"), cleaned))
    return f"{numerator} / ({count} * ({count} - 1D))"
