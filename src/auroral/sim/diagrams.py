"""A diagram of a user's own under failures: its boxes by the reference, on replicas in virtual time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from auroral.dpc.settings import AS_USUAL, Choices, Policy, Settings, WrongSettings
from auroral.dpc.values import Content
from auroral.model.builder import DiagramBuilder, check
from auroral.model.checking import Checked
from auroral.model.deployment import Deployment
from auroral.model.deployment_text import read_deployment_text
from auroral.model.diagram import Diagram
from auroral.model.duration import Duration, microseconds
from auroral.model.errors import DiagramError, unknown_name
from auroral.sim.changed import versions
from auroral.sim.faults import Fault, parse
from auroral.sim.fragments import CannotBeSimulated, DiagramFragment, by_bucket, content, cut
from auroral.sim.given import Rows, rows_of
from auroral.sim.randomly import least_bound
from auroral.sim.scenario import Scenario
from auroral.sim.simulate import CALM, Outcome, judged, observed

MOST_REPLICAS = 26
"""Their hosts are named by letters."""
QUIET = 30.0
"""Seconds after the last failure in which everything must have been corrected; more where X and buckets are long."""
MOST_BUCKETS = 20_000


@dataclass(frozen=True, slots=True)
class Answer:
    """What the client was given of one bucket, and when; a later one of the same bucket takes its place."""

    at: float
    """Seconds since the first bucket began."""
    stream: str
    stime: int
    """Where the bucket begins, in microseconds."""
    stable: bool
    rows: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Tried:
    answers: tuple[Answer, ...]
    violations: tuple[str, ...]
    """Guarantees that were broken: none, unless there is a bug in Auroral, or a box is not deterministic."""
    outcome: Outcome = field(repr=False)

    @property
    def ok(self) -> bool:
        return not self.violations

    @property
    def tentative(self) -> tuple[Answer, ...]:
        return tuple(answer for answer in self.answers if not answer.stable)

    def rows(self, stream: str) -> list[dict[str, Any]]:
        """What an output holds in the end."""
        if stream not in (outputs := self.outcome.scenario.outputs):
            raise DiagramError([unknown_name("output", stream, outputs)])
        return [row for answer in self.answers if answer.stable and answer.stream == stream for row in answer.rows]


def under_failures(
    diagram: Diagram | DiagramBuilder,
    rows: Mapping[str, Iterable[Mapping[str, Any]]],
    failures: str = "",
    *,
    bound: Duration | None = None,
    replicas: int = 2,
    deployment: Deployment | str | None = None,
    seed: int = 0,
    while_failing: Policy | str = Policy.PROCESS,
    while_correcting: Policy | str = Policy.PROCESS,
    keep: Duration | None = None,
    changed: Diagram | DiagramBuilder | None = None,
) -> Tried:
    """Run the diagram over these rows of its inputs on so many nodes, while failures happen, and check every guarantee.

    `failures` are lines like `at 3s crash na`; hosts are the inputs, the nodes na, nb, ... and the client c. Seconds count from
    the first row's bucket, and a failure must begin before the last result of the rows is due. Each input that is read must have rows, or an
    empty list of them. `bound` is X; if it is left out, the lowest availability of an output, or else ten buckets.

    With a `deployment`, which may be the text of its file, queries run where it says: hosts are named after its replica sets, or
    after the query of a node that is in none, with a letter behind.

    `while_failing` and `while_correcting` are what is done with new rows then; `keep` is how much of a stream is kept at most for those
    that are behind: sources take no more where that is full.

    `changed` is the diagram that its queries are changed to by `at 20s change QUERY`; without a deployment the query is called n. Without
    it they compute the same from then on.
    """
    if isinstance(deployment, str):
        deployment = read_deployment_text(deployment)
    kept = None if keep is None else microseconds(keep) / 1e6
    choices = Choices(_policy(while_failing), _policy(while_correcting), kept)
    after = None if changed is None else check(changed)
    trial = Trial.of(check(diagram), deployment, bound=bound, replicas=replicas, choices=choices, changed=after)
    given = rows_of(trial.checked.diagram, trial.calm.sources, rows)
    faults = parse(failures, trial.calm.hosts)
    trial.must_meet(given, faults)
    # To the end, so that two runs over the same rows can be compared, whatever fails in them.
    run = observed(trial.scenario(given, faults, seed, to_the_end=True))
    outcome, first = judged(run), trial.first(given)
    answers = [
        Answer(one.at, stream, (first + one.bucket) * trial.interval, one.stable, trial.dicts(stream, one.content))
        for stream, all_ in run.deliveries.items()
        for one in all_
    ]
    return Tried(tuple(sorted(answers, key=lambda answer: answer.at)), outcome.violations, outcome)


@dataclass(frozen=True, slots=True)
class Trial:
    """A diagram on its nodes, to be tried with any rows and failures."""

    checked: Checked
    fragments: tuple[DiagramFragment, ...]
    later: Mapping[str, tuple[DiagramFragment, ...]]
    """What they are changed to, where it is said."""
    calm: Scenario
    """Who is there and with which settings, without rows and failures."""

    @classmethod
    def of(
        cls,
        checked: Checked,
        deployment: Deployment | None = None,
        *,
        bound: Duration | None = None,
        replicas: int = 2,
        choices: Choices = AS_USUAL,
        changed: Checked | None = None,
    ) -> Trial:
        checked = checked.runnable()
        if not 1 <= replicas <= MOST_REPLICAS:
            raise CannotBeSimulated(f"{replicas} replicas; allowed: 1 to {MOST_REPLICAS}")
        fragments, client = cut(checked, deployment, replicas)
        made = {stream for fragment in fragments for stream in fragment.streams}
        later = {} if changed is None else versions(checked, fragments, changed.runnable(), deployment, replicas)
        computed = (*fragments, *(one for each in later.values() for one in each))
        sources = dict.fromkeys(stream for f in computed for stream in f.inputs if stream not in made)
        calm = Scenario(
            0,
            tuple(sources),
            fragments,
            {},
            Settings(
                bucket=(interval := checked.diagram.bucket / 1e6), bound=float("inf"), ping_every=min(0.1, interval)
            ),
            0.0,
            asked_for=client,
            nodes={fragment.name: fragment.hosts for fragment in fragments},
            # As in deployments.
            durable=frozenset(fragment.name for fragment in fragments),
            later=later,
        )
        _hosts_must_differ(calm)
        asked = None if bound is None else microseconds(bound)
        settings = choices.applied(replace(calm.settings, bound=_bound(checked.diagram, calm, asked)))
        return cls(checked, fragments, later, replace(calm, settings=settings))

    @property
    def interval(self) -> int:
        return self.checked.diagram.bucket

    @property
    def horizons(self) -> int:
        """In how many buckets behind the last row there may still be results of it."""
        computed = (*self.fragments, *(one for each in self.later.values() for one in each))
        return sum(max(h for output in one.outputs for h in output.reads.values()) for one in computed)

    def first(self, rows: Rows) -> int:
        """The number of the first bucket that has rows, since 1970."""
        numbers = [row.stime // self.interval for given in rows.values() for row in given]
        if not numbers:
            raise CannotBeSimulated("there are no rows\n    next: give some of at least one input")
        return min(numbers)

    def must_meet(self, rows: Rows, faults: Iterable[Fault]) -> None:
        """A failure after everything was answered would be tried on nothing, and show nothing."""
        first, settings = self.first(rows), self.calm.settings
        last = max(row.stime for given in rows.values() for row in given) // self.interval + 1 - first
        due = (last + self.horizons) * settings.bucket + settings.bound
        for fault in faults:
            if not fault.ends and fault.at >= due:
                raise CannotBeSimulated(
                    f"'{fault}' comes when all is over: rows end at {last * settings.bucket:g} s, and the last result of them is due by {due:g} s\n"
                    "    allowed: failures that begin before that\n    next: give rows for longer, or let it begin earlier"
                )

    def buckets(self, faults: Sequence[Fault], least: float = 0.0) -> int:
        """How many it takes for so many seconds and these failures, and to correct everything."""
        settings, last = self.calm.settings, max([least, *(fault.at for fault in faults)])
        if not faults and not least:
            # As many as are looked at to know when a bucket usually comes.
            return int(CALM / settings.bucket)
        return self._few(int((last + max(QUIET, settings.bound + 10 * settings.bucket)) / settings.bucket))

    def _few(self, buckets: int) -> int:
        if buckets > MOST_BUCKETS:
            raise CannotBeSimulated(
                f"the rows and failures take {buckets:,} buckets of {self.calm.settings.bucket:g} s\n"
                f"    allowed: up to {MOST_BUCKETS:,}\n    next: give less of the rows, or make the diagram's buckets longer"
            )
        return buckets

    def scenario(
        self, rows: Rows, faults: tuple[Fault, ...] = (), seed: int = 0, least: float = 0.0, to_the_end: bool = False
    ) -> Scenario:
        """At least so many seconds. To the end: until all results of the rows are there, unless windows are too long for that."""
        first = self.first(rows)
        given = {stream: by_bucket(rows.get(stream, ()), self.interval, first) for stream in self.calm.sources}
        last = max((bucket for cells in given.values() for bucket in cells), default=0)
        buckets = max(self.buckets(faults, least), self._few(last + 1))
        if to_the_end:
            buckets = max(buckets, min(last + 1 + self.horizons, MOST_BUCKETS))
        return replace(
            self.calm,
            seed=seed,
            queries=tuple(replace(fragment, first=first) for fragment in self.fragments),
            later={name: tuple(replace(one, first=first) for one in each) for name, each in self.later.items()},
            # Half a bucket more, so that the number of buckets is not a matter of rounding.
            seconds=(buckets + 0.5) * self.calm.settings.bucket,
            rows={s: tuple(content(cells.get(bucket, ())) for bucket in range(buckets)) for s, cells in given.items()},
            faults=faults,
        )

    def dicts(self, stream: str, given: Content) -> tuple[dict[str, Any], ...]:
        names = self.checked.streams[stream].schema.names
        return tuple(dict(zip(names, row.values, strict=True)) for row in given.rows)


def _policy(said: Policy | str) -> Policy:
    if said not in list(Policy):
        raise DiagramError([unknown_name("policy", said, list(Policy))])
    return Policy(said)


def _hosts_must_differ(scenario: Scenario) -> None:
    """And be such as a schedule can name."""
    for source in scenario.sources:
        if scenario.hosts.count(source) > 1 or re.search(r"[-\s>;#]", source):
            others = ", ".join(host for host in scenario.hosts if host not in scenario.sources)
            raise CannotBeSimulated(
                f"input {source!r} cannot be named in a schedule\n"
                f"    allowed: names without spaces, -, >, ; and #, and other than those of the other hosts: {others}\n"
                "    next: give it another name"
            )


def _bound(diagram: Diagram, calm: Scenario, asked: int | None) -> float:
    """X in seconds: what was asked for, or the lowest availability, or else ten buckets."""
    least = max(least_bound(calm), 2 * calm.settings.detection)
    said = [output.availability for output in diagram.outputs if output.availability is not None]
    if asked is None and not said:
        return max(10 * calm.settings.bucket, least + calm.settings.bucket)
    bound = (asked if asked is not None else min(said)) / 1e6
    if bound <= least:
        raise WrongSettings(
            f"the bound of {bound:g} s is too short: with buckets of {calm.settings.bucket:g} s a failure is noticed after "
            f"{calm.settings.detection:g} s, and then each query on the longest way does its work, and reads from another replica if it must\n"
            f"    allowed: more than {least:g} s\n    next: a larger bound or availability, or shorter buckets"
        )
    return bound
