"""Three box types: one that looks at a bucket, one that looks back, and one that keeps a state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from auroral.extend import Box, FieldName, FieldNames, Fold, FoldRow, Length, Schema, SchemaLike, length

TEN_SECONDS = length("10s")


@dataclass(frozen=True)
class TopN(Box):
    """The n rows of each bucket in which a field is largest, with their rank; of equal ones all have the same rank."""

    n: int
    by: FieldName

    def __post_init__(self) -> None:
        if self.n < 1:
            raise ValueError(f"n is {self.n}; write 1 or more")

    def schema(self, rows: Schema) -> SchemaLike:
        if not rows[self.by].is_numeric:
            raise ValueError(f"{self.by!r} is a {rows[self.by]}, and rows are ranked by numbers")
        return {**{field.name: field.type for field in rows.fields}, "rank": "int"}

    def compute(self, rows: Any) -> Any:
        from pyspark.sql import Window
        from pyspark.sql import functions as sf

        order = Window.orderBy(sf.col(self.by).desc())
        return rows.withColumn("rank", sf.rank().over(order)).where(f"rank <= {self.n}")


@dataclass(frozen=True)
class SinceLast(Box):
    """For each row, how long ago the one before it of the same group came, in seconds, if that is not too long ago."""

    by: FieldNames
    within: Length = TEN_SECONDS
    into: str = "gap"

    cut_free = True

    def schema(self, rows: Schema) -> SchemaLike:
        if rows.get(self.into) is not None:
            raise ValueError(f"there is a field {self.into!r} already: give the result another name with into")
        return {**{field.name: field.type for field in rows.fields}, self.into: "double"}

    def horizon(self) -> int:
        return self.within

    def compute(self, rows: Any) -> Any:
        from pyspark.sql import Window
        from pyspark.sql import functions as sf

        # Rows of equal stime have no order: each of them is compared with what came before all of them.
        earlier = Window.partitionBy(*self.by).orderBy("stime").rangeBetween(-self.within, -1)
        return rows.withColumn(self.into, (sf.col("stime") - sf.max("stime").over(earlier)) / 1_000_000)


@dataclass(frozen=True)
class Sessions(Fold):
    """Rows of a group that come one after the other, each within `gap` of the one before: how many, and how many seconds they took."""

    by: FieldNames
    gap: Length = TEN_SECONDS

    def schema(self, rows: Schema) -> SchemaLike:
        return {**{name: rows[name] for name in self.by}, "rows": "long", "seconds": "double"}

    def key(self) -> tuple[str, ...]:
        return self.by

    def row(self, state: Any, row: FoldRow) -> Any:
        first, _, rows = state or (row.stime, None, 0)
        return (first, row.stime, rows + 1), []

    def due(self, state: Any) -> int:
        _, last, _ = state
        return last + self.gap

    def timeout(self, state: Any, key: tuple[Any, ...], stime: int) -> Any:
        first, last, rows = state
        result = {**dict(zip(self.by, key, strict=True)), "rows": rows, "seconds": (last - first) / 1_000_000}
        return None, [result]

    def horizon(self) -> int:
        return self.gap
