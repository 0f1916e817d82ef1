"""Outputs that are served as a client process serves them, and told of by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

import auroral
from auroral.client import Client, connect
from auroral.dpc.events import Deliver, Effect, Miss
from auroral.edge.stamping import STIME
from auroral.model.deployment import Endpoint
from auroral.node.fleet.clientproxy import ClientStore
from auroral.node.fleet.contents import content_of
from auroral.node.fleet.outputs import Outputs
from auroral.node.fleet.processes import free_ports
from auroral.node.fleet.serving import OutputServer
from auroral.node.history import Histories
from auroral.node.runfolder import RunFolder
from auroral.wire.certificates import Certificates

BUCKET, FIRST = 1_000_000, 100
BEGIN = FIRST * BUCKET
TOKEN = "open sesame"


def stime(bucket: float) -> int:
    return int(BEGIN + bucket * BUCKET)


def folder_of(path: Path, kept: int | None = None, revised: bool = False) -> RunFolder:
    d = auroral.diagram("d", bucket="1s")
    if revised:
        d.input("r", "n int", revisions="10s", key=["n"]).filter("g", "n > 0").output()
    f = d.input("s", "ts long, n int", stime="ts", unit="us").filter("f", "n > 0")
    if kept is None:
        f.output()
    else:
        f.keep("few", rows=kept)
    return RunFolder.claim(path, d.check(), {}, {}, False)


class Life:
    """One life of a client process, from its folder on."""

    def __init__(
        self,
        folder: Path,
        port: int = 0,
        kept: int | None = None,
        certificates: Certificates | None = None,
        revised: bool = False,
    ):
        """With `revised`, there is also the output g, whose rows may be revised."""
        self.refused: list[str] = []
        self.folder = folder_of(folder, kept, revised)
        self.store = ClientStore(self.folder, FIRST)
        self.histories = Histories(self.folder, self.store.logs)
        self.outputs = Outputs(self.store.logs, BUCKET, FIRST, self.histories)
        at = Endpoint("127.0.0.1", port or free_ports(1)[0])
        self.server = OutputServer(at, TOKEN, lambda kind, detail: self.refused.append(detail), certificates)
        self.server.outputs = self.outputs
        self.port = self.server.port

    def connect(self, patience: float = 20.0) -> Client:
        return connect(f"127.0.0.1:{self.port}", TOKEN, patience)

    def end(self) -> None:
        asyncio.run(self.server.stop())
        self.store.close()
        self.folder.close()

    def stable(self, bucket: int, *numbers: int) -> None:
        self._tell(Deliver("f", bucket, content(bucket, *numbers), True))

    def tentative(self, bucket: int, *numbers: int) -> None:
        self._tell(Deliver("f", bucket, content(bucket, *numbers), False))

    def marked(self, bucket: int, rows: Sequence[tuple[int, str | None]]) -> None:
        """Of g, stable: numbers with what they revise."""
        stimes = pa.array([stime(bucket)] * len(rows), pa.int64())
        columns = {
            "n": pa.array([n for n, _ in rows], pa.int32()),
            "revised_value": pa.array([m for _, m in rows], pa.string()),
        }
        self._tell(Deliver("g", bucket, content_of(pa.table({STIME: stimes, **columns})), True))

    def lost(self, begin: int, end: int) -> None:
        self._tell(Miss("f", begin, end))

    def _tell(self, effect: Effect) -> None:
        self.store.carry_out([effect])
        self.outputs.saw("client", effect)


def content(bucket: int, *numbers: int):
    """Rows of a bucket, in the order in which they were computed."""
    stimes = pa.array([stime(bucket)] * len(numbers), pa.int64())
    return content_of(pa.table({STIME: stimes, "ts": stimes, "n": pa.array(numbers, pa.int32())}))
