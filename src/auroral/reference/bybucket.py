"""Boxes that look at the rows of a bucket together."""

from __future__ import annotations

from auroral.reference.rows import Row


class ByBucket:
    """Rows of a bucket are looked at together, once it is over."""

    def __init__(self, bucket: int):
        self.bucket = bucket
        self.coming: list[Row] = []

    def on_row(self, port: int, row: Row) -> None:
        self.coming.append(row)

    def on_boundary(self, stime: float) -> None:
        while self.coming and (self.coming[0].stime // self.bucket + 1) * self.bucket <= stime:
            number = self.coming[0].stime // self.bucket
            together = [row for row in self.coming if row.stime // self.bucket == number]
            self.coming = self.coming[len(together) :]
            self.over(number, together)

    def over(self, number: int, rows: list[Row]) -> None:
        raise AssertionError("told by each box")
