"""What replicas owe their readers and one another."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping

from auroral.dpc.client import Client
from auroral.dpc.layout import moved
from auroral.dpc.replica import Replica
from auroral.dpc.settings import UNLIMITED
from auroral.dpc.source import Source
from auroral.dpc.sunion import MOST_BUCKETS
from auroral.sim.invariants.going import Apart, AsItGoes, Judging, News
from auroral.sim.invariants.stable import version_of
from auroral.sim.scenario import Scenario, host
from auroral.sim.seen import EVERY, LEASE, Correction, Moment, Run, Spoke


@AsItGoes
def mute_until_right(run: Run) -> Judging:
    """D65: a replica that came back does not answer before it is as far as its inputs were when it came back, nor without what its
    readers may ask for."""
    spoke = News(run.spoke)
    while True:
        for one in spoke:
            yield from _too_early(run.scenario, one)
        yield None


def _too_early(scenario: Scenario, one: Spoke) -> Iterator[str]:
    # The newest bucket may still be on its way.
    if one.frontier < one.expected - 1:
        yield f"{one.core}: answers at {one.at:.2f} s with {one.stream} up to {one.frontier} of {one.expected}"
    # In a declared gap, for those who choose to lose what does not fit.
    if one.kept_from > one.asked_for and scenario.settings.lost_beyond == UNLIMITED:
        yield (
            f"{one.core}: answers at {one.at:.2f} s with {one.stream} from {one.kept_from} on; a reader is at {one.asked_for}"
        )


def lag(scenario: Scenario) -> float:
    """Seconds in which a reader must be as far as all producers were that it reached all the time: to notice that one failed and
    read from another, and to catch up, job by job."""
    return scenario.settings.detection + 1.75 + 20 * scenario.job + MOST_BUCKETS * scenario.job_bucket


@AsItGoes
def nobody_falls_behind(run: Run) -> Judging:
    """D81: who reaches replicas of an input all the time that keep what it needs has what they have, a while later, whatever else
    fails; so that stable output grows wherever it can."""
    scenario, allowed = run.scenario, lag(run.scenario)
    producers = {stream: scenario.names(stream) for stream in scenario.streams}
    apart = Apart(run.moments, allowed)
    while True:
        for before, moment in apart:
            yield from _behind(before, moment, producers)
        yield None


def _behind(before: Moment, moment: Moment, producers: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    for (name, stream), port in moment.ports.items():
        # Who came to read it since, by another version, has only just asked for it.
        if moment.living[name] > before.at or (name, stream) not in before.ports:
            continue
        # What a move has left behind is not read any more.
        read = [producer for producer in producers[stream] if producer in port.producers]
        frontiers = list(_could_give(before, moment, name, stream, read, port.frontier))
        if frontiers and port.frontier < min(frontiers):
            yield (
                f"{name}: has {stream} up to {port.frontier} at {moment.at:.2f} s; all that it reaches were at "
                f"{min(frontiers)} or more at {before.at:.2f} s"
            )


def _could_give(
    before: Moment, moment: Moment, reader: str, stream: str, names: Iterable[str], next_one: int
) -> Iterator[int]:
    for producer in names:
        since, living = moment.links.get((producer, reader)), moment.living.get(producer)
        if since is not None and since <= before.at and living is not None and living <= before.at:
            outlet = before.outlets[producer, stream]
            # One that a move has brought keeps what came since.
            if outlet.kept_from <= next_one:
                yield outlet.frontier


TURN = 2.0
"""Seconds in which one that may correct has asked each of the others for a turn, and begun."""


@AsItGoes
def one_keeps_answering(run: Run) -> Judging:
    """D57: of replicas that cannot stay fresh and reach one another, not all correct at the same time. Two that have just found each
    other again may do so until they have heard of each other's turns."""
    new, stale, replicas = News(run.corrections), list[Correction](), _replicas(run.scenario)
    while True:
        for one in new:
            if one.fresh:
                continue
            stale.append(one)
            moment = run.moments[max(0, bisect_right(run.moments, one.begin, key=lambda moment: moment.at) - 1)]
            since = {name: _together_since(moment, one.core, name) for name in replicas[one.core]}
            # Who is mute answers in nobody's place.
            reached = {name for name, time in since.items() if time is not None and name not in moment.mute}
            settled = {name for name, time in since.items() if time is not None and time < moment.at - LEASE}
            at_work = {other.core for other in stale if other.begin <= one.begin < other.end}
            if len(settled) > 1 and reached <= at_work:
                yield f"{', '.join(sorted(reached))} all correct at {one.begin:.2f} s: nobody answers"
        yield None


@AsItGoes
def turns_are_granted(run: Run) -> Judging:
    """D57: who cannot stay fresh corrects only while another one has promised not to, and never against a promise of its own; nor does one
    that corrects promise it. Only one that was lost may have taken its promise with it."""
    new, grants, replicas = News(run.corrections), News(run.wrong_grants), _replicas(run.scenario)
    lost = {name: _lost(run.scenario, names) for name, names in replicas.items()}
    while True:
        for at, core, to in grants:
            yield f"{core} promises {to} at {at:.2f} s not to correct, and does so"
        for one in new:
            if one.fresh:
                continue
            if one.promises:
                yield f"{one.core} corrects at {one.begin:.2f} s, and had promised {', '.join(sorted(one.promises))} not to"
            quiet = one.begin - lost[one.core][bisect_right(lost[one.core], one.begin) - 1] > LEASE + TURN
            if quiet and not one.promised_by and _others(run, one, replicas[one.core]):
                yield f"{one.core} corrects at {one.begin:.2f} s, and nobody has promised not to"
        yield None


def _others(run: Run, one: Correction, replicas: Iterable[str]) -> bool:
    """Whether it has reached some for a while."""
    moment = run.moments[max(0, bisect_right(run.moments, one.begin, key=lambda moment: moment.at) - 1)]
    since = [_together_since(moment, one.core, other) for other in replicas if other not in (one.core, *moment.mute)]
    return any(time is not None and time < moment.at - LEASE for time in since)


@AsItGoes
def one_is_read(run: Run) -> Judging:
    """D57, D58: nor do all of them say so for long, as nobody would be read for what is new. Who waits for its turn goes on answering, as in
    a failure."""
    replicas, moments = _replicas(run.scenario), News(run.moments)
    since: dict[tuple[str, str], float] = {}
    while True:
        for moment in moments:
            alone = {one for one in moment.unread if _no_other_is_read(moment, *one, replicas[one[0]])}
            since = {one: since.get(one, moment.at) for one in alone}
            for (name, stream), began in sorted(since.items()):
                if moment.at - began > EVERY:
                    yield f"{name} and all that it reaches say from {began:.2f} to {moment.at:.2f} s that they correct {stream}"
        yield None


def _no_other_is_read(moment: Moment, name: str, stream: str, replicas: Iterable[str]) -> bool:
    """Of those that it has reached for a while, of which there are some."""
    since = {one: _together_since(moment, name, one) for one in replicas if one != name and one not in moment.mute}
    reached = [one for one, time in since.items() if time is not None and time < moment.at - LEASE]
    return bool(reached) and all((one, stream) in moment.unread for one in reached)


@AsItGoes
def turns_come(run: Run) -> Judging:
    """Turns: where one waits for its turn, one that it reaches corrects. Only one that was lost may be waited for, or
    may have been promised something, for a lease."""
    replicas, moments = _replicas(run.scenario), News(run.moments)
    lost = {name: _lost(run.scenario, names) for name, names in replicas.items()}
    since: dict[str, float] = {}
    while True:
        for moment in moments:
            in_vain = {name for name in moment.waiting if not _one_corrects(moment, name, replicas[name])}
            since = {name: since.get(name, moment.at) for name in in_vain}
            for name, began in sorted(since.items()):
                quiet = moment.at - lost[name][bisect_right(lost[name], moment.at) - 1] > LEASE + TURN
                if quiet and moment.at - began > TURN:
                    yield f"{name} waits for its turn from {began:.2f} to {moment.at:.2f} s, and nobody corrects"
        yield None


def _one_corrects(moment: Moment, name: str, replicas: Iterable[str]) -> bool:
    """Of those that it reaches."""
    return any(_together_since(moment, name, one) is not None for one in moment.correcting.intersection(replicas))


def _replicas(scenario: Scenario) -> dict[str, tuple[str, ...]]:
    """Of each the set that it belongs to."""
    sets = [scenario.replica_names(query) for query in scenario.queries]
    return {name: names for names in sets for name in names}


def _lost(scenario: Scenario, names: Iterable[str]) -> list[float]:
    """When something happened to one of these replicas or their connections, the beginning included."""
    hosts = set(map(host, names))
    return [0.0, *(fault.at for fault in scenario.faults if not hosts.isdisjoint(fault.places))]


def _together_since(moment: Moment, one: str, other: str) -> float | None:
    """Since when both have been there, and reached each other."""
    link = moment.living.get(one) if one == other else moment.links.get((min(one, other), max(one, other)))
    return None if link is None else max(link, moment.living[one], moment.living[other])


def one_owner(run: Run) -> Iterator[str]:
    """X9, L55, L58: each bucket of a query is made stable by one version of it, which was decided for all of its replicas, and by those
    that run it then."""
    for (core, _, stream), finals in run.finals.items():
        query = run.scenario.query_of(stream).name
        for one in finals:
            if not one.owned:
                yield f"{core}: made bucket {one.bucket} of {stream} stable at {one.at:.2f} s, and does not run {query}"
            if one.made is None or one.made.job is None:
                continue
            by, decided = one.made.job.version, version_of(run, query, one.bucket)
            if by != decided:
                yield f"{core}: made bucket {one.bucket} of {stream} stable by version {by}, and was to by {decided}"


def moves_end(run: Run) -> Iterator[str]:
    """X9, L55: a query that moved has exactly the replicas that it was to have, everyone knows of them, and nobody of others."""
    stage = run.stage
    if not run.scenario.reconfigured:
        return
    planned = dict(run.scenario.layout.members)
    for move in stage.moves:
        planned[move.query] = moved(planned[move.query], move.leaves, move.comes)
    for query, members in planned.items():
        if stage.layout.members[query] != members or stage.layout.moving == query:
            yield f"{query} runs as {', '.join(stage.layout.members[query])}, and was to be {', '.join(members)}"
    wirings = stage.layout.wirings(run.scenario.topology)
    for name in stage.queries:
        if (name in wirings) is not (name in stage.world.cores):
            yield f"{name} is {'not ' * (name in wirings)}running"
    for name, core in stage.world.cores.items():
        if isinstance(core, Replica | Client):
            for stream, port in core.ports.items():
                if port.producers != wirings[name].inputs[stream]:
                    yield f"{name} reads {stream} from {port.producers}, not from {wirings[name].inputs[stream]}"
        outlets = (
            core.outlets
            if isinstance(core, Replica)
            else {core.stream: core.outlet}
            if isinstance(core, Source)
            else {}
        )
        for stream, outlet in outlets.items():
            if outlet.readers_expected != wirings[name].readers[stream]:
                yield f"{name} gives {stream} to {outlet.readers_expected}, not to {wirings[name].readers[stream]}"


def changes_hold(run: Run) -> Iterator[str]:
    """X9, L58: a query that was to get other versions has got as many, and all of its replicas know which bucket each begins with."""
    stage = run.stage
    for query in run.scenario.queries:
        starts = stage.layout.decision(query.name).starts
        if len(starts) - 1 != stage.changes.count(query.name):
            yield f"{query.name} was changed {len(starts) - 1} times, and was to be {stage.changes.count(query.name)} times"
        if list(starts) != sorted(set(starts)):
            yield f"{query.name}: versions begin with buckets {starts}"
        for name in stage.layout.running(query.name):
            core = stage.world.cores.get(name)
            if isinstance(core, Replica) and core.versions.plan.starts != starts:
                yield f"{name} takes {core.versions.plan.starts} for where versions begin, and not {starts}"
            if isinstance(core, Replica) and core.versions.plan.promised is not None:
                yield f"{name} is held up at bucket {core.versions.plan.promised} by what it promised"


def promises_hold(run: Run) -> Iterator[str]:
    """X9, L58: while a change is prepared, no replica makes stable what it promised to leave; and the version begins no earlier than any of
    them promised."""
    for (core, _, stream), finals in run.finals.items():
        for one in finals:
            # What is lost is of no version.
            if one.bucket >= one.limit and not one.content.lost:
                yield f"{core}: made bucket {one.bucket} of {stream} stable at {one.at:.2f} s, and had promised to stop at {one.limit}"
    for at, core, before, plan in run.plans:
        new = plan.starts[len(before.starts) :]
        # Of another attempt it may have been told without having been asked.
        if new and before.promised is not None and plan.attempt == before.attempt and new[0] < before.promised:
            yield f"{core}: a version begins with bucket {new[0]} at {at:.2f} s, and had promised {before.promised}"
