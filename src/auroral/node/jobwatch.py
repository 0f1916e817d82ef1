"""What the engine is doing right now and what it takes, for whoever watches, and a way to make it give up."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping

from auroral.engine.foldstates import FoldStates
from auroral.engine.footprint import Footprint
from auroral.node.evaluator import Evaluated, Evaluator
from auroral.node.source import Source
from auroral.node.status import Doing


class Cancelled(Exception):
    """The job was given up because somebody asked for it. Nothing of it was committed."""


class JobWatch:
    """Shared by the thread that evaluates and those that watch or stop it."""

    def __init__(self, bucket: int) -> None:
        self.bucket = bucket
        self.group = f"auroral-{uuid.uuid4().hex[:12]}"
        self.doing: Doing | None = None
        self.cancelled = False
        self.footprint: Callable[[], Footprint] = Footprint
        self._cancel: Callable[[], None] | None = None

    def cancel(self) -> None:
        """Give up what is running. To be called again until the run has ended: a job may be just about to start."""
        self.cancelled = True
        if self._cancel is not None:
            self._cancel()

    def over(
        self, evaluator: Evaluator, cancel: Callable[[], None], footprint: Callable[[], Footprint] = Footprint
    ) -> Evaluator:
        """The same evaluator, watched. `cancel` cancels the jobs that it has running, `footprint` measures what it takes."""
        self._cancel, self.footprint = cancel, footprint
        return _Watched(evaluator, self)


class _Watched:
    def __init__(self, evaluator: Evaluator, watch: JobWatch):
        self._evaluator = evaluator
        self._watch = watch
        self._first = True

    def run(self, lo: int, hi: int, sources: Mapping[str, Source]) -> Evaluated:
        rows = sum(source.rows_between(lo, hi) for source in sources.values())
        buckets = (hi - lo) // self._watch.bucket
        self._watch.doing = Doing(lo, hi, buckets, rows, time.monotonic(), self._first)
        try:
            if self._watch.cancelled:
                raise Cancelled
            return self._evaluator.run(lo, hi, sources)
        except Exception as error:
            if self._watch.cancelled:
                raise Cancelled from error
            raise
        finally:
            self._first = False
            self._watch.doing = None

    def restart(self) -> None:
        self._evaluator.restart()

    @property
    def states(self) -> FoldStates:
        return self._evaluator.states

    def load(self, states: FoldStates) -> None:
        self._evaluator.load(states)
