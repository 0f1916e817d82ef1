"""What connection points keep: of each, a Parquet folder with the newest rows of its stream, for any reader; and logs that are cut to what is kept.

The rows are those of the stream's log, and mostly its very files, under a second name: only the oldest file is written again, without
the rows that are not kept any more. That is done when they have come to a quarter of what is kept, so that files stay as they are for most of the
time. What a folder shows changes in one step (`edge.generations`), and says itself how far it goes: so whatever was done when a process was
killed, the next one finds either the folder before or the folder after.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from auroral.edge.generations import Generations
from auroral.edge.parquetsink import Part
from auroral.edge.sinks import output_schema
from auroral.model.history import Kept, Retention, kept_streams, retention
from auroral.node.outputlog import OutputLog
from auroral.node.runfolder import RunFolder

_log = logging.getLogger(__name__)
MANIFEST = "_history.json"
"""Spark and others skip it by its underscore."""
_SURPLUS = 4
"""So much of what is kept, at most, is there beyond it: a quarter."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """Of a folder: all rows of `stream` from `begin` up to `frontier` that the view keeps. `cut` is the first row, stime or value that is kept,
    by number or as the order has it. Of all rows that the stream had, `before` are not there."""

    view: str
    stream: str
    begin: int
    frontier: int
    cut: int | None
    rows: int
    before: int

    @staticmethod
    def read(folder: Path) -> Manifest:
        """Raises OSError, ValueError or TypeError where there is none."""
        return Manifest(**json.loads((folder / MANIFEST).read_text()))


@dataclass(frozen=True, slots=True)
class _Facts:
    """Of a file: its rows, and the least and greatest value of the order field, where the view goes by one."""

    rows: int
    least: int | None = None
    most: int | None = None
    without: int = 0
    """Rows without a value."""


@dataclass(slots=True)
class History:
    """One connection point. `publish` by one thread at a time; the log may be appended to meanwhile."""

    kept: Kept
    log: OutputLog
    bucket: int
    generations: Generations
    manifest: Manifest | None = field(init=False, default=None)
    _shown: frozenset[str] = field(init=False, default=frozenset())
    """Files of the log whose rows are shown."""
    _looked: bool = field(init=False, default=False)
    """Whether that is known."""
    _facts: dict[Part, _Facts] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        if (newest := self.generations.newest) is not None:
            try:
                self.manifest = Manifest.read(newest)
            except (OSError, ValueError, TypeError) as error:
                # All that it says is in the log too.
                _log.warning("%s is damaged, and made anew: %s", newest, error)

    @property
    def _keeps(self) -> Retention:
        return retention(self.kept.view, self.log.schema)

    def publish(self) -> None:
        """Shows all that is stable by now."""
        frontier, parts = self.log.at_once()
        if frontier is None or (self._looked and self.manifest is not None and self.manifest.frontier == frontier):
            return
        facts = self._facts = {part: self._facts.get(part) or self._look(part) for part in parts}
        cut = self._cut(frontier, facts)
        files: dict[str, Path | pa.Table | bytes] = {}
        shown, rows, begin = set[str](), 0, frontier
        number = self.log.let_go
        for part, fact in facts.items():
            name, content, count = self._content(part, fact, number, cut)
            number += fact.rows
            if count:
                files[name] = content
                shown.add(part.name)
                rows, begin = rows + count, min(begin, self._first(part, content))
        if not files:
            # Without one, nobody could tell what the columns are.
            files["part-none.parquet"] = output_schema(self.log.schema).empty_table()
        begin = begin // self.bucket * self.bucket
        manifest = Manifest(self.kept.view.name, self.kept.stream, begin, frontier, cut, rows, number - rows)
        files[MANIFEST] = json.dumps(asdict(manifest), indent=1).encode()
        self.generations.show(files)
        self.manifest, self._shown, self._looked = manifest, frozenset(shown), True

    def needs(self, part: Part) -> bool:
        """Whether rows of that file are shown, or may be: those that came after the last look."""
        return not self._looked or part not in self._facts or part.name in self._shown

    def rows_of(self, part: Part) -> int:
        return self._facts[part].rows

    def _cut(self, frontier: int, facts: Mapping[Part, _Facts]) -> int | None:
        keeps = self._keeps
        if keeps.rows is not None:
            newest: int | None = self.log.let_go + sum(fact.rows for fact in facts.values())
            length = keeps.rows
        elif keeps.span is not None:
            most = [fact.most for fact in facts.values() if fact.most is not None]
            newest = frontier if keeps.order is None else max(most, default=None)
            length = keeps.span
        else:
            return None
        before = None if self.manifest is None else self.manifest.cut
        if newest is None:
            return before
        wanted = newest - length
        return wanted if before is None or wanted - before > length // _SURPLUS or wanted < before else before

    def _content(self, part: Part, fact: _Facts, number: int, cut: int | None) -> tuple[str, Path | pa.Table, int]:
        """The file of a part as it is shown: its name, what is in it, and how many rows. `number` is that of its first row."""
        keeps, whole = self._keeps, self.log.folder / part.name
        if cut is None:
            return part.name, whole, fact.rows
        name = f"{part.name.removesuffix('.parquet')}_from_{cut}.parquet"
        if keeps.rows is not None:
            if number >= cut:
                return part.name, whole, fact.rows
            return self._reduced(name, part, max(0, number + fact.rows - cut), cut - number)
        if keeps.order is None:
            if part.low >= cut:
                return part.name, whole, fact.rows
            return self._reduced(name, part, None, None) if part.high > cut else (name, whole, 0)
        if fact.without == 0 and fact.least is not None and fact.least >= cut:
            return part.name, whole, fact.rows
        return (name, whole, 0) if fact.most is None or fact.most < cut else self._reduced(name, part, None, None, cut)

    def _reduced(
        self, name: str, part: Part, rows: int | None, skip: int | None, least: int | None = None
    ) -> tuple[str, Path | pa.Table, int]:
        if rows == 0:
            return name, self.log.folder / part.name, 0
        newest = self.generations.newest
        if newest is not None and (newest / name).exists():
            count = pq.ParquetFile(newest / name).metadata.num_rows
            return name, newest / name, count
        table = self.log.load(part)
        if skip is not None:
            table = table.slice(skip)
        elif least is not None:
            table = table.filter(pc.greater_equal(self._values(table), least))
        else:
            cut = int(name.removesuffix(".parquet").rpartition("_")[2])
            table = table.filter(pc.greater_equal(table.column(0), cut))
        return name, table, table.num_rows

    def _first(self, part: Part, content: Path | pa.Table | bytes) -> int:
        """The stime of the oldest row, or one not far before it."""
        if isinstance(content, pa.Table):
            return int(content.column(0)[0].as_py())
        if isinstance(content, Path) and content.name != part.name:
            return int(pq.ParquetFile(content).metadata.row_group(0).column(0).statistics.min)
        return part.low

    def _look(self, part: Part) -> _Facts:
        order = self._keeps.order
        if order is None:
            return _Facts(self.log.count(part))
        values = self._values(self.log.load(part))
        ends = pc.min_max(values).as_py()
        return _Facts(len(values), ends["min"], ends["max"], values.null_count)

    def _values(self, table: pa.Table) -> pa.ChunkedArray:
        """Of the order field, as numbers."""
        order = self._keeps.order
        assert order is not None
        column = table.column(1 + self.log.schema.names.index(order))
        return column.cast(pa.int64())


class Histories:
    """All connection points of a diagram. Of streams that are there for them alone, logs are cut to what they show, unless rows go elsewhere too:
    `whole` are streams of which a sink may still want everything."""

    def __init__(self, folder: RunFolder, logs: Mapping[str, OutputLog], whole: Iterable[str] = ()):
        diagram = folder.checked.diagram
        self._logs = logs
        self.all: dict[str, History] = {}
        for kept in kept_streams(diagram):
            place = Generations(folder.history(kept.view.name))
            self.all.setdefault(kept.view.name, History(kept, logs[kept.stream], diagram.bucket, place))
        self.cut = {o.stream for o in diagram.outputs if o.kept}.difference(whole)
        self._one_at_a_time = Lock()

    @property
    def streams(self) -> frozenset[str]:
        return frozenset(history.kept.stream for history in self.all.values())

    def publish(self) -> None:
        """Everything that is stable by now; and what is shown nowhere any more is let go."""
        with self._one_at_a_time:
            for history in self.all.values():
                history.publish()
            for stream in sorted(self.cut & self.streams):
                self._let_go(stream)

    def _let_go(self, stream: str) -> None:
        log, views = self._logs[stream], [one for one in self.all.values() if one.kept.stream == stream]
        unneeded = []
        for part in log.listed():
            if any(view.needs(part) for view in views):
                break
            unneeded.append(part)
        if unneeded:
            log.forget(unneeded, sum(views[0].rows_of(part) for part in unneeded))

    def status(self) -> list[dict[str, Any]]:
        found = []
        for name, history in self.all.items():
            told: dict[str, Any] = {"view": name, "stream": history.kept.stream}
            if (manifest := history.manifest) is not None:
                told |= {"rows": manifest.rows, "before": manifest.before, "frontier": manifest.frontier}
                told |= {"begin": manifest.begin}
            found.append(told)
        return found
