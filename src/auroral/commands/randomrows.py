"""Random rows of any schema, for trying boxes out: small domains, so that groups and joins meet, and odd values."""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

from auroral.engine.arrowrows import arrow_schema, from_python
from auroral.engine.relations import Edge
from auroral.model.stream import StreamType
from auroral.model.types import FieldType, Kind

_WORDS = ("", "a", "b", "ab", "é", "Zz", "10.0.0.1")
_NULLS = 0.08


def random_rows(edge: Edge, stream: StreamType, count: int, lo: int, hi: int, random: Random) -> pa.Table:
    """`count` rows of a source edge with stimes in [lo, hi); fields that carry the stime agree with it."""
    clock = stream.clocks[0] if stream.clocks else None
    unit = clock.unit if clock is not None else 1
    stimes = sorted(
        random.randrange(-(-lo // unit), max(-(-hi // unit), -(-lo // unit) + 1)) * unit for _ in range(count)
    )
    values: list[list[Any]] = [stimes, list(range(count))]
    for field in stream.schema.fields:
        carried = stream.clock(field.name)
        if carried is not None:
            values.append([(stime - carried.offset) // carried.unit for stime in stimes])
        else:
            values.append([random_value(field.type, lo, hi, random) for _ in range(count)])
    shape = arrow_schema(edge.columns)
    return pa.table([from_python(v, f.type) for v, f in zip(values, shape, strict=True)], schema=shape)


def random_value(kind: FieldType, lo: int, hi: int, random: Random) -> Any:
    """One value of the type, now and then null; times lie in [lo, hi)."""
    if random.random() < _NULLS:
        return None
    match kind.kind:
        case Kind.BYTE | Kind.SHORT | Kind.INT | Kind.LONG:
            return random.choice((random.randrange(-2, 6), random.randrange(0, 100)))
        case Kind.SINGLE | Kind.DOUBLE:
            return random.choice((random.gauss(0, 1e3), random.uniform(0, 1), 0.0, float("nan")))
        case Kind.STRING:
            return random.choice(_WORDS)[: kind.size]
        case Kind.BOOL:
            return random.random() < 0.5
        case Kind.TIMESTAMP:
            return random.randrange(lo, hi)
        case Kind.DATE:
            return random.randrange(19_000, 19_010)
        case Kind.BINARY:
            return random.randbytes(random.randrange(4))
        case Kind.DECIMAL:
            scale = kind.scale or 0
            largest = 10 ** min(kind.precision or 1, 6) - 1
            return Decimal(random.randint(-largest, largest)).scaleb(-scale)
