"""Boxes that work on rows which revise others, in SQL. See `model.revisions` for how such rows are marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from auroral.engine.sqltext import (
    HI,
    LO,
    STIME,
    Cte,
    aliased,
    columns,
    floor_div,
    group_by,
    order_column,
    quoted,
    relation,
    select,
    string_literal,
)
from auroral.model.boxes.revisable import TypedRevisable, TypedSettled
from auroral.model.checking import CheckedBox
from auroral.model.revisions import (
    AHEAD,
    DELETE,
    EXPIRED,
    INSERT,
    REPLACE,
    REVISED,
    SAID,
    TIME_FROM,
    UNMATCHED,
    UNREADABLE,
)
from auroral.model.schema import Field
from auroral.model.stream import StreamType

if TYPE_CHECKING:
    from auroral.engine.compile import Compiler

MARK = quoted(REVISED)
AT, SIGN = "__at", "__sign"
"""The stime that a row belongs to, and whether it adds (1) or takes away (-1)."""


def time_sql(mark: str = MARK, stime: str = STIME) -> str:
    """The stime that a row of a stream of revisions belongs to."""
    return f"IF({mark} IS NULL, {stime}, CAST(substr({mark}, {TIME_FROM}) AS BIGINT))"


def sign_sql(mark: str = MARK) -> str:
    return f"IF(startswith({mark}, '{DELETE}'), -1, 1)"


def unmarked(stream: StreamType) -> list[Field]:
    return [field for field in stream.schema.fields if field.name != REVISED]


def exactly(fields: Sequence[Field]) -> list[str]:
    """What rows with the same bits have in common: to SQL, zeros of both signs are one."""
    return [f"CAST({quoted(f.name)} AS STRING)" if f.type.is_float else quoted(f.name) for f in fields]


def left_over(changes: str, stream: StreamType) -> str:
    """Of a relation with stime, __at, __sign and fields, the changes that are left, marked. A row that is not late needs no mark."""
    fields = unmarked(stream)
    values = [f"any_value({name}) AS {name}" if f.type.is_float else name for f, name in _named(fields)]
    netted = select(
        [STIME, AT, *values, f"sum({SIGN}) AS __net"],
        changes,
        group_by([STIME, AT, *exactly(fields)]),
        "HAVING sum(" + SIGN + ") <> 0",
    )
    text = (
        f"IF(__net > 0 AND {AT} = {STIME}, NULL, concat(IF(__net > 0, '{INSERT} ', '{DELETE} '), CAST({AT} AS STRING)))"
    )
    shown = [f"{text} AS {MARK}" if f.name == REVISED else quoted(f.name) for f in stream.schema.fields]
    return select([STIME, *shown, "explode(sequence(1L, abs(__net))) AS __copy"], f"(\n{netted}\n)")


def standing(changes: str, fields: Sequence[Field], apart: Sequence[str], items: Sequence[str]) -> str:
    """`items` of the rows that are left of a relation with __at, __sign and fields, for each value of `apart` by itself."""
    equal = ", ".join([*apart, AT, *exactly(fields)])
    counted = select(
        [
            "*",
            f"sum({SIGN}) OVER (PARTITION BY {equal}) AS __net",
            f"row_number() OVER (PARTITION BY {equal} ORDER BY {AT}) AS __copy",
        ],
        changes,
    )
    return select(items, f"(\n{counted}\n)", "WHERE __copy <= __net")


def _named(fields: Sequence[Field]) -> list[tuple[Field, str]]:
    return [(field, quoted(field.name)) for field in fields]


def consolidated(mapped: str, stream: StreamType) -> str:
    """What is left of rows and of revisions: a map may show nothing of what was revised."""
    fields = columns(f.name for f in unmarked(stream))
    changes = select([STIME, f"{time_sql()} AS {AT}", f"{sign_sql()} AS {SIGN}", *fields], mapped)
    return select([STIME, *columns(stream.schema.names)], f"(\n{left_over(f'({changes})', stream)}\n)")


def settled(compiler: Compiler, checked: CheckedBox, typed: TypedSettled) -> list[Cte]:
    """A row leaves once the last bucket is over in which it may be revised: by then, all that came of it lies behind."""
    (source,), (target,) = checked.box.inputs, checked.box.outputs
    stream = compiler.stream(source)
    fields = unmarked(stream)
    leaves = f"{AT} + {typed.kept}L"
    over = f"({floor_div(leaves, typed.bucket)} + 1) * {typed.bucket}L"
    changes = select(
        [f"{time_sql()} AS {AT}", f"{sign_sql()} AS {SIGN}", *columns(f.name for f in fields)],
        compiler.with_past(source),
    )
    due = select(["*"], f"(\n{changes}\n)", f"WHERE {over} > {LO} AND {over} <= {HI}")
    names = columns(f.name for f in fields)
    keys = aliased(zip(names, map(order_column, range(len(names))), strict=True)) if target in compiler.ordered else []
    return [Cte(target, standing(f"(\n{due}\n)", fields, [], [f"{leaves} AS {STIME}", *keys, *names]))]


def revisable(compiler: Compiler, checked: CheckedBox, typed: TypedRevisable) -> list[Cte]:
    """Rows as they come; and for the keys that are revised in the range, their history gone through row by row."""
    (source,), (target,), box = checked.box.inputs, checked.box.outputs, checked.box.name
    stream = compiler.stream(target)
    fields = unmarked(stream)
    in_range = f"{{0}} * {typed.bucket}L >= {LO} AND ({{0}} + 1) * {typed.bucket}L <= {HI}"
    row = ", ".join(f"f{i}: {field.type.spark}" for i, field in enumerate(fields))
    done = select([f"{_replayed(typed, row)} AS __done"], f"(\n{_histories(compiler, checked, typed)}\n)")
    changes = select(
        [
            f"(b + 1) * {typed.bucket}L - 1 AS {STIME}",
            f"a AS {AT}",
            f"s AS {SIGN}",
            *(f"r.f{i} AS {quoted(field.name)}" for i, field in enumerate(fields)),
        ],
        f"({select(['inline(__done.changes)'], relation(f'{box}@done'))})",
        f"WHERE {in_range.format('b')}",
    )
    lost = select(
        [f"b * {typed.bucket}L AS {STIME}", "why"],
        f"({select(['inline(__done.lost)'], relation(f'{box}@done'))})",
        f"WHERE {in_range.format('b')}",
    )
    for reason in (UNMATCHED, EXPIRED, AHEAD):
        compiler.count(checked, reason, f"{box}@lost", f"why = '{reason}'")
    compiler.count(checked, UNREADABLE, f"{box}@events", f"__word IS NULL AND {in_range.format('__b')}")
    shown = [f"CAST(NULL AS STRING) AS {MARK}" if f.name == REVISED else quoted(f.name) for f in stream.schema.fields]
    plain = select([STIME, *shown], relation(source), f"WHERE {_PLAIN}")
    left = left_over(relation(f"{box}@changes"), stream)
    revised = select([STIME, *columns(stream.schema.names)], f"(\n{left}\n)")
    return [
        Cte(f"{box}@events", _events(compiler, source, typed, fields)),
        Cte(f"{box}@done", done),
        Cte(f"{box}@changes", changes),
        Cte(f"{box}@lost", lost),
        Cte(target, f"SELECT {compiler.one_partition}* FROM (\n{plain}\nUNION ALL\n{revised}\n)"),
    ]


_PLAIN = f"({MARK} IS NULL OR {MARK} = '')"
_EVERY = "__every"


def _events(compiler: Compiler, source: str, typed: TypedRevisable, fields: Sequence[Field]) -> str:
    """Rows and revisions with what they say: a word, null where it cannot be read, and perhaps a stime."""
    readable = f"{MARK} RLIKE {string_literal('^(' + SAID + ')' + chr(92) + 'z')}"
    word = f"CASE WHEN {_PLAIN} THEN '' WHEN {readable} THEN substring_index({MARK}, ' ', 1) END"
    time = f"TRY_CAST(substring_index({MARK}, ' ', -1) AS BIGINT)"
    row = _struct([(f"f{i}", quoted(field.name)) for i, field in enumerate(fields)])
    said = [f"{word} AS __word", f"{time} AS __time", f"{floor_div(STIME, typed.bucket)} AS __b", f"{row} AS __row"]
    # Where no field names a row, all that was said is one history.
    every = [] if typed.key else [f"TRUE AS {_EVERY}"]
    return select(["*", *said, *every], compiler.with_past(source))


def _histories(compiler: Compiler, checked: CheckedBox, typed: TypedRevisable) -> str:
    """For each key of which something is revised in the range, all that was said of it, in order."""
    events, keys = relation(f"{checked.box.name}@events"), columns(typed.key) or [_EVERY]
    names = [f"__t{i}" for i in range(len(keys))]
    touched = select(
        ["DISTINCT " + ", ".join(aliased(zip(keys, names, strict=True)))],
        events,
        f"WHERE __word <> '' AND __b * {typed.bucket}L >= {LO} AND (__b + 1) * {typed.bucket}L <= {HI}",
    )
    same = " AND ".join(f"e.{key} <=> t.{name}" for key, name in zip(keys, names, strict=True))
    order = [STIME, *(c.name for c in compiler.order(checked.box.inputs[0]))]
    event = _struct(
        [
            *((f"o{i}", name) for i, name in enumerate(order)),
            *(("w", "__word"), ("t", "__time"), ("b", "__b"), ("r", "__row")),
        ]
    )
    return select(
        [f"array_sort(collect_list({event})) AS __history"],
        f"{events} e LEFT SEMI JOIN (\n{touched}\n) t ON {same}",
        "WHERE __word IS NOT NULL",
        group_by(keys),
    )


def _struct(parts: Sequence[tuple[str, str]]) -> str:
    return "named_struct(" + ", ".join(f"'{name}', {value}" for name, value in parts) + ")"


def _replayed(typed: TypedRevisable, row: str) -> str:
    """The revisions of a key, one after the other: what stands, the changes that were made, and revisions that were lost.

    What stands is (a, n, r): the stime that a row belongs to, its place in the key's history, and the row. A revision is about the last of
    those before it that are open to it.
    """
    changes = f"CAST(array() AS ARRAY<STRUCT<b: BIGINT, a: BIGINT, s: INT, r: STRUCT<{row}>>>)"
    lost = "CAST(array() AS ARRAY<STRUCT<b: BIGINT, why: STRING>>)"
    placed = "transform(__history, (h, i) -> named_struct('h', h, 'n', i))"
    rows = f"transform(filter({placed}, p -> p.h.w = ''), p -> named_struct('a', p.h.o0, 'n', p.n, 'r', p.h.r))"
    oldest, end = f"e.h.b * {typed.bucket}L - {typed.kept}L", f"(e.h.b + 1) * {typed.bucket}L"
    is_open = f"x.n < e.n AND x.a >= {oldest} AND (e.h.t IS NULL OR x.a = e.h.t)"
    last = f"array_max(transform(filter(s.stands, x -> {is_open}), x -> named_struct('a', x.a, 'n', x.n)))"

    def state(stands: str = "s.stands", changes: str = "s.changes", lost: str = "s.lost") -> str:
        return f"named_struct('stands', {stands}, 'changes', {changes}, 'lost', {lost})"

    def losing(why: str) -> str:
        return state(lost=f"concat(s.lost, array(named_struct('b', e.h.b, 'why', '{why}')))")

    def change(at: str, sign: int, row: str) -> str:
        return f"named_struct('b', e.h.b, 'a', {at}, 's', {sign}, 'r', {row})"

    taken = change("y.a", -1, "filter(s.stands, x -> x.n = y.n)[0].r")
    deleted = state("filter(s.stands, x -> x.n <> y.n)", f"concat(s.changes, array({taken}))")
    replaced = state(
        "transform(s.stands, x -> IF(x.n = y.n, named_struct('a', x.a, 'n', x.n, 'r', e.h.r), x))",
        f"concat(s.changes, array({taken}, {change('y.a', 1, 'e.h.r')}))",
    )
    inserted = state(
        "concat(s.stands, array(named_struct('a', e.h.t, 'n', e.n, 'r', e.h.r)))",
        f"concat(s.changes, array({change('e.h.t', 1, 'e.h.r')}))",
    )
    about = f"IF(y IS NULL, {losing(UNMATCHED)}, IF(e.h.w = '{REPLACE}', {replaced}, {deleted}))"
    step = "\n".join(
        [
            f"CASE WHEN e.h.t < {oldest} THEN {losing(EXPIRED)}",
            f"WHEN e.h.t >= {end} THEN {losing(AHEAD)}",
            f"WHEN e.h.w = '{INSERT}' THEN {inserted}",
            # The array of one is there to give its element a name.
            f"ELSE transform(array({last}), y -> {about})[0] END",
        ]
    )
    return f"aggregate(filter({placed}, p -> p.h.w <> ''), {state(rows, changes, lost)}, (s, e) -> {step})"
