"""Frames that tests send."""

from __future__ import annotations

import pyarrow as pa

from auroral.dpc.coverage import NOTHING
from auroral.dpc.values import Content, Stable, Tentative

ROWS = pa.table({"v": pa.array(range(1000), pa.int64())})


def stable(stream: str, bucket: int, rows: pa.Table = ROWS) -> Stable:
    return Stable(stream, 1, bucket, (Content(bucket, rows.num_rows, rows),))


def tentative(stream: str, bucket: int) -> Tentative:
    return Tentative(stream, 1, bucket, Content(bucket, ROWS.num_rows, ROWS), True, 0.0, NOTHING)
