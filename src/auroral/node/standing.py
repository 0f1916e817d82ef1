"""Where a run stands, read from its folder, also while another process runs it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from auroral.edge.commits import commit_path
from auroral.edge.sourcelog import SourceLog
from auroral.node.account import Account
from auroral.node.outputlog import OutputLog
from auroral.node.ranges import Limits
from auroral.node.runfolder import RunFolder

_LOOKS = 5
_BETWEEN_LOOKS = 0.02


@dataclass(frozen=True, slots=True)
class Standing:
    """A run's account, outputs and source logs, as they were when it was looked at."""

    folder: RunFolder
    limits: Limits
    account: Account
    outputs: Mapping[str, OutputLog]
    sources: Mapping[str, SourceLog]

    @staticmethod
    def look(folder: RunFolder) -> Standing:
        account, outputs = _settled(folder)
        sources = {
            given.stream: SourceLog.open(folder.source(given.stream), given.schema, stream=given.stream, readonly=True)
            for given in folder.checked.diagram.inputs
        }
        return Standing(folder, Limits.of(folder.checked), account, outputs, sources)

    @property
    def reached(self) -> int | None:
        """The frontier of the output that is furthest."""
        return max((log.frontier for log in self.outputs.values() if log.frontier is not None), default=None)

    @property
    def past_end(self) -> bool:
        """Whether windows that were open at the end of all input were closed too."""
        return self.account.end is not None and self.reached is not None and self.reached > self.account.end

    @property
    def until(self) -> int | None:
        """Up to where rows of the inputs count."""
        return self.account.end if self.past_end else self.reached

    @property
    def settled(self) -> bool:
        """Whether all outputs and the account are at the same stime: not so if a run was cut off between two of them."""
        return _agree(self.account, self.outputs.values())

    @property
    def kept_from(self) -> int | None:
        return kept_from(self.sources.values())


def kept_from(logs: Iterable[SourceLog]) -> int | None:
    """The stime before which rows may have been pruned; None where all are there."""
    return max((log.base.below for log in logs if log.base.below is not None), default=None)


def _settled(folder: RunFolder) -> tuple[Account, Mapping[str, OutputLog]]:
    """Outputs and account are written one after the other: while a run goes on, a later look finds them equal."""
    for _ in range(_LOOKS):
        account = Account.load(folder.account)
        outputs = _outputs(folder, account)
        if account.frontier is None or _agree(account, outputs.values()):
            break
        time.sleep(_BETWEEN_LOOKS)
    return account, outputs


def _agree(account: Account, outputs: Iterable[OutputLog]) -> bool:
    return account.frontier is not None and all(log.frontier == account.frontier for log in outputs)


def _outputs(folder: RunFolder, account: Account) -> dict[str, OutputLog]:
    logs = {}
    for output in folder.checked.diagram.outputs:
        place = folder.output(output.stream)
        if commit_path(place).exists() or account.frontier is not None:
            logs[output.stream] = OutputLog.look(place, folder.checked.streams[output.stream].schema)
    return logs
