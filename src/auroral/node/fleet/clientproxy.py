"""The client of a deployment: keeps the corrected view of every output, and writes what is stable into the run folder (D73)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import groupby

import pyarrow as pa

from auroral.dpc.events import Deliver, Effect, Kept, Miss, Started
from auroral.engine.arrowrows import canonical
from auroral.node.outputlog import OutputLog
from auroral.node.runfolder import RunFolder


class ClientStore:
    """What was delivered stable is in the output logs of the run folder, and is the position that a client goes on from."""

    def __init__(self, folder: RunFolder, first: int):
        self.first, self.bucket = first, folder.checked.diagram.bucket
        self.logs: dict[str, OutputLog] = {}
        self.missed: Counter[str] = Counter()
        """Buckets that are lost for good."""
        with ExitStack() as opened:
            for output in folder.checked.diagram.outputs:
                schema = folder.checked.streams[output.stream].schema
                log = OutputLog.open(folder.output(output.stream), schema, folder.settings.run)
                opened.callback(log.close)
                self.logs[output.stream] = log
            self._opened = opened.pop_all()

    def started(self) -> Started:
        found = {
            s: log.frontier // self.bucket - self.first for s, log in self.logs.items() if log.frontier is not None
        }
        return Started({stream: Kept(begin) for stream, begin in found.items()})

    def carry_out(self, effects: Sequence[Effect]) -> None:
        given = [e for e in effects if (isinstance(e, Deliver) and e.stable) or isinstance(e, Miss)]
        for stream, group in groupby(sorted(given, key=_stream), _stream):
            self._append(stream, list(group))

    def _append(self, stream: str, given: list[Deliver | Miss]) -> None:
        log = self.logs[stream]
        tables, begin = [log.no_rows()], _begin(given[0])
        for one in given:
            if isinstance(one, Miss):
                self.missed[stream] += one.end - one.begin
            elif one.content.rows is not None:
                tables.append(canonical(one.content.rows).cast(tables[0].schema))
        end = given[-1].end if isinstance(given[-1], Miss) else given[-1].bucket + 1
        log.append(self._stime(begin), self._stime(end), pa.concat_tables(tables))

    def _stime(self, bucket: int) -> int:
        return (self.first + bucket) * self.bucket

    def close(self) -> None:
        self._opened.close()


def _stream(given: Deliver | Miss) -> str:
    return given.stream


def _begin(given: Deliver | Miss) -> int:
    return given.begin if isinstance(given, Miss) else given.bucket
