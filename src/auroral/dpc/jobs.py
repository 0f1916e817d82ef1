"""Which jobs are run for the outputs of a replica, one that makes buckets stable and one that makes them tentative at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from auroral.dpc.coverage import Coverage
from auroral.dpc.events import Cancel, Effect, Evaluate
from auroral.dpc.sizing import MOST_GUESSED, SHARE, Guesses
from auroral.dpc.sunion import SUnion
from auroral.dpc.trouble import Trouble
from auroral.dpc.usual import Usual
from auroral.dpc.values import Content, Snapshot
from auroral.dpc.versions import Versions


@dataclass(frozen=True, slots=True)
class Job:
    """Evaluates outputs for buckets [begin, end)."""

    ranges: Mapping[str, tuple[int, int]]
    """What is wanted of each output."""
    begin: int
    end: int
    tentative: bool
    started: float
    ready_at: Mapping[str, tuple[float, ...]]
    """When each bucket of each output was usually ready."""
    coverage: Mapping[str, tuple[Coverage, ...]]
    """Of each output's buckets, if they are tentative."""
    began: Mapping[str, int]
    """Of each fold, the bucket that its state was last stable at."""
    folded: Mapping[str, Coverage]
    """Of each fold's state at the end of the job, which may be behind the last bucket that is wanted of it, if it is tentative."""
    states: Mapping[str, Snapshot]
    """That each fold begins with."""
    version: int
    """Of the query."""
    rows: int = 0
    """That it reads of its own buckets."""

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(self.ranges)

    @property
    def evaluated(self) -> int:
        """Buckets, those included that lie between the state of a fold and the first that is wanted."""
        return self.end - min([self.begin, *(state.bucket for state in self.states.values())])


@dataclass(slots=True)
class Jobs:
    unions: Mapping[str, SUnion]
    """By output."""
    usual: Usual
    """What a job for one bucket takes."""
    versions: Versions
    running: dict[int, Job] = field(default_factory=dict)
    guesses: Guesses = field(default_factory=Guesses)
    last: int = 0
    served: dict[str, int] = field(default_factory=dict)
    """The last job that made each output stable."""
    trouble: tuple[Trouble, Trouble] = field(default_factory=lambda: (Trouble(), Trouble()))
    """Of those that make something stable, and of the tentative ones: what is missing in these may be what makes others fail."""

    def ended(self, number: int) -> Job | None:
        """Nothing for one that was cancelled: its result may have been under way."""
        return self.running.pop(number, None)

    def learn(self, job: Job, now: float) -> None:
        took = now - job.started
        self.guesses.learn(job.evaluated, took, self.usual.value)
        if not job.tentative:
            for stream in job.outputs:
                self.unions[stream].sizing.learn(job.rows, took, self.usual.value)
        if job.tentative or job.end - job.begin == 1:
            self.usual.learn(max(0.0, took - self.guesses.beyond_first(job.evaluated)))

    @property
    def being_made_stable(self) -> set[str]:
        return {stream for job in self.running.values() if not job.tentative for stream in job.outputs}

    @property
    def last_stable(self) -> int:
        """The first bucket that neither is stable nor is just being made so, of the output that is furthest."""
        ends = [job.end for job in self.running.values() if not job.tentative]
        return max([*ends, *(union.outlet.ever_stable for union in self.unions.values())])

    def start_stable(self, may_begin: Callable[[SUnion], bool], now: float) -> Iterator[Effect]:
        """The next buckets of all outputs that can be made final by the same job."""
        if any(not job.tentative for job in self.running.values()):
            return
        able = {}
        for stream, union in self.unions.items():
            begin, end = union.stable_range
            if begin < end and union.begun and may_begin(union):
                able[stream] = union.next_job
        if not (ready := self.trouble[False].to_try(able, now)):
            return
        # D63: one that has much to correct holds up the others by a job at most.
        first = min(ready, key=lambda stream: (self.served.get(stream, 0), ready[stream][1] - ready[stream][0]))
        begin, end = ready[first]
        streams = tuple(stream for stream, found in ready.items() if found == (begin, end))
        # What was guessed right behind it needs no job.
        end = max(self.unions[stream].wrong_until(begin, end) for stream in streams)
        self.served.update(dict.fromkeys(streams, self.last + 1))
        if end - begin == 1:
            for stream in streams:
                self.unions[stream].learn(begin, now)
        yield self._evaluate(dict.fromkeys(streams, (begin, end)), False, now)

    def next_try(self, now: float) -> float:
        return min([kind.next_try(now) for kind in self.trouble])

    def cancel_guesses(self) -> Iterator[Effect]:
        """What has become final need not be guessed any more."""
        for number, job in list(self.running.items()):
            if job.tentative and all(end <= self.unions[s].outlet.frontier for s, (_, end) in job.ranges.items()):
                del self.running[number]
                yield Cancel(number)

    def start_tentative(self, deadlines: Mapping[str, Mapping[int, float]], now: float) -> Iterator[Effect]:
        """`deadlines`: of new buckets, by output."""
        if not any(deadlines.values()) or any(job.tentative for job in self.running.values()):
            return
        begun = {stream: union for stream, union in self.unions.items() if union.begun}
        found = {stream: union.tentative_range(now, deadlines[stream]) for stream, union in begun.items()}
        due = self.trouble[True].to_try({s: buckets for s, buckets in found.items() if buckets is not None}, now)
        if due:
            # One job for all outputs that are due: none waits for the jobs of the others, which its deadline does not know of.
            earliest = min(begin for begin, _ in due.values())
            at_once = self._at_once(due, deadlines, now)
            most = min(earliest + at_once, self.versions.plan.end(earliest))
            near = {
                s: (begin, min(end, most))
                for s, (begin, end) in due.items()
                if begin < most and self.unions[s].reaches(earliest)
            }
            yield self._evaluate(near, True, now)

    def _at_once(
        self, due: Mapping[str, tuple[int, int]], deadlines: Mapping[str, Mapping[int, float]], now: float
    ) -> int:
        """Buckets. Of what is only to be made stable, all that may be: a smaller guess would be done just before the job that does so. But
        what is new behind it waits for the guess, and must not wait for longer than it may."""
        first = [(self.unions[stream], deadlines[stream][begin] - now, begin) for stream, (begin, _) in due.items()]
        final = {stream: self._next_final(stream) for stream in due}
        if all(begin < final[stream] for stream, (begin, _) in due.items()):
            longest = max(min(end - begin, MOST_GUESSED) for begin, end in due.values())
            done = now + self.usual.value + self.guesses.beyond_first(longest)
            behind = (time for stream in due for b, time in deadlines[stream].items() if b >= final[stream])
            if done <= min(behind, default=done):
                return MOST_GUESSED
        spare = min(max(left, SHARE * union.aside) for union, left, _ in first)
        return self.guesses.most(spare, self.usual.value, first[0][0].settings.bucket)

    def _next_final(self, stream: str) -> int:
        """The first bucket that is not made stable by the job that runs, or by the next one."""
        ends = [job.end for job in self.running.values() if not job.tentative and stream in job.ranges]
        return max(ends, default=self.unions[stream].stable_range[1])

    def _evaluate(self, ranges: Mapping[str, tuple[int, int]], tentative: bool, now: float) -> Evaluate:
        self.last += 1
        begin, end = min(begin for begin, _ in ranges.values()), max(end for _, end in ranges.values())
        unions = [self.unions[stream] for stream in ranges]
        ready = {
            stream: tuple(self._ready_at(stream, b, now) for b in range(*found)) for stream, found in ranges.items()
        }
        coverage = {s: self.unions[s].coverages(*found, begin) for s, found in ranges.items()} if tentative else {}
        states = {union.spec.stream: union.fold.start(begin) for union in unions if union.fold is not None}
        began = {union.spec.stream: union.fold.began(begin) for union in unions if union.fold is not None}
        folded = {s: self.unions[s].coverages(end - 1, end, begin)[0] for s in began} if tentative else {}
        version = self.versions.plan.version(begin)
        view: dict[str, dict[int, Content]] = {name: {} for union in unions for name in union.ports}
        for union in unions:
            if tentative:
                first = begin if union.fold is None else union.fold.start(begin).bucket
                union.guessed.begins(self.last, union.reading(end - 1).reads, first, end)
            for name, contents in union.view(begin, end).items():
                view[name] |= contents
                whole = range(union.first_read(name, begin), end)
                assert tentative or contents.keys() >= set(whole), f"{name} lacks some of {whole} for a stable bucket"
        rows = sum(c.count for contents in view.values() for b, c in contents.items() if b >= begin)
        self.running[self.last] = Job(
            ranges, begin, end, tentative, now, ready, coverage, began, folded, states, version, rows
        )
        return Evaluate(self.last, tuple(ranges), begin, end, view, tentative, version, states)

    def _ready_at(self, stream: str, bucket: int, now: float) -> float:
        """What was never heard of, and is passed by what was, is not late."""
        found = self.unions[stream].ready_at(bucket)
        return now if found is None else found
