"""What a replica made of buckets tentatively: where all that was read turns out to be as it was then, it is final, and no job is asked for
(early cut-off).

It is never given out from here as tentative (D70). Of each bucket of an input only the hash is remembered that jobs read last, and since
when they have: a result that was made from an earlier one counts as wrong, so that what is remembered does not grow with windows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from auroral.dpc.port import Port
from auroral.dpc.values import Content, Snapshot


@dataclass(frozen=True, slots=True)
class Run:
    """The result of a job for one bucket; of a fold, for all buckets of the job, as it tells the state behind the last one only."""

    job: int
    version: int
    """Of the query."""
    contents: tuple[Content, ...]
    began: Snapshot | None = None
    """The state that a fold began with, at the first of them."""
    ended: Snapshot | None = None


@dataclass(frozen=True, slots=True)
class Next:
    """The buckets [begin, end) of an output, the next that could be final, what they read, and by which version of the query."""

    begin: int
    end: int
    reads: Mapping[str, int]
    version: int
    state: Snapshot | None = None
    """Of a fold, before the first of them."""


@dataclass(frozen=True, slots=True)
class Right:
    """What was guessed right: the contents of the next buckets, and the state of a fold behind them."""

    contents: tuple[Content, ...]
    state: Snapshot | None


@dataclass(slots=True)
class Guessed:
    ports: Mapping[str, Port]
    most: int | None
    """Buckets that are kept at most."""
    runs: dict[int, Run] = field(default_factory=dict)
    """By their first buckets."""
    read: dict[str, dict[int, tuple[int | None, int]]] = field(default_factory=dict)
    """By input and bucket: the hash that jobs read last, None where there was nothing, and the first of the jobs that did."""

    def begins(self, job: int, reads: Mapping[str, int], begin: int, end: int) -> None:
        """A tentative job for these buckets."""
        for name, horizon in reads.items():
            read, port = self.read.setdefault(name, {}), self.ports[name]
            for bucket in range(max(0, begin - horizon + 1), end):
                content = port.best(bucket)
                found = None if content is None else content.hash
                if bucket not in read or read[bucket][0] != found:
                    read[bucket] = (found, job)

    def ends(self, begin: int, run: Run) -> None:
        """What the job made of the buckets from `begin` on."""
        if run.began is None:
            for bucket, content in enumerate(run.contents, begin):
                self.runs[bucket] = Run(run.job, run.version, (content,))
        elif run.began.bucket == begin:
            # Of what was folded without being asked for, there is no result.
            self.runs[begin] = run
        while self.most is not None and sum(len(kept.contents) for kept in self.runs.values()) > self.most:
            del self.runs[min(self.runs)]

    def right(self, following: Next) -> Right:
        """The first of these buckets, as far as all that was read for them is as it was guessed."""
        contents: list[Content] = []
        bucket, state = following.begin, following.state
        while (run := self._agreeing(bucket, following)) is not None and run.began == state:
            contents += run.contents
            bucket, state = bucket + len(run.contents), run.ended
        return Right(tuple(contents), state)

    def wrong_until(self, following: Next) -> int:
        """Behind the last of these buckets that must be computed, where the first must be. What lies between is computed as well: a job of
        many buckets takes little longer than one of a single bucket, and two take twice as long."""
        first = self.runs.get(following.begin)
        if first is not None and first.began != following.state:
            # Its state is not the chain's, and is compared again where the job ends, not bucket by bucket.
            return following.end
        bucket = until = following.begin
        while bucket < following.end:
            if (run := self._agreeing(bucket, following)) is not None:
                bucket += len(run.contents)
            else:
                bucket = until = bucket + 1
        return max(until, following.begin + 1)

    def _agreeing(self, bucket: int, following: Next) -> Run | None:
        """What was made of a bucket, and of those that are made with it, from what is final by now."""
        run = self.runs.get(bucket)
        if run is None or run.version != following.version or bucket + len(run.contents) > following.end:
            return None
        for name, horizon in following.reads.items():
            read, port = self.read.get(name, {}), self.ports[name]
            for one in range(max(0, bucket - horizon + 1), bucket + len(run.contents)):
                final = port.best(one)
                if final is None or one not in read or read[one][0] != final.hash or read[one][1] > run.job:
                    return None
        return run

    def forget(self, below: int, reads_from: Mapping[str, int]) -> None:
        """What is final or given up, and what nothing behind it reads."""
        for bucket in [bucket for bucket in self.runs if bucket < below]:
            del self.runs[bucket]
        for name, read in self.read.items():
            for bucket in [bucket for bucket in read if bucket < reads_from[name]]:
                del read[bucket]
