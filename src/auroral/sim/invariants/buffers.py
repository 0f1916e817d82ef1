"""What is kept: as long as someone may ask for it, and no longer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from auroral.sim.invariants.going import Apart, AsItGoes, Judging, News
from auroral.sim.invariants.replicas import lag
from auroral.sim.oracle import Oracle
from auroral.sim.scenario import CLIENT
from auroral.sim.seen import FULL, Moment, Run

TOLD = 2.0
"""Seconds after which what a reader does not need any more is forgotten: some heartbeats, one after the other."""


@AsItGoes
def what_is_asked_for_is_kept(run: Run) -> Judging:
    """D69: nobody is refused what it needs, unless it was lost from a full buffer (D71): who asks for it may not know yet."""
    reports, lossy = News(run.reports), set[tuple[str, str]]()
    while True:
        for at, core, report in reports:
            if report.kind == FULL:
                lossy.add((core, report.stream))
            if report.kind == "asked for what is not kept" and (core, report.stream) not in lossy:
                yield f"{core}: {report.stream} at {at:.2f} s"
        yield None


@AsItGoes
def buffers_are_bounded(run: Run) -> Judging:
    """D71, D72: where there is a limit, no output keeps more than that, and no input holds more tentative buckets than that, nor more stable
    ones besides the windows on it, for longer than it takes to compute them."""
    apart, most = Apart(run.moments, lag(run.scenario)), run.scenario.settings.most_kept
    while most is not None:
        for before, moment in apart:
            for (name, stream), outlet in moment.outlets.items():
                if outlet.kept > most:
                    yield f"{name}: keeps {outlet.kept} buckets of {stream} at {moment.at:.2f} s; at most {most} are allowed"
            for key, port in moment.ports.items():
                then = before.ports.get(key)
                too_many = then is not None and min(then.held - then.window, port.held - port.window) > most
                if too_many or port.guessed > most:
                    yield (
                        f"{key[0]}: holds {port.held} stable and {port.guessed} tentative buckets of {key[1]} at {moment.at:.2f} s; "
                        f"at most {most} are allowed of each, and {port.window} for windows"
                    )
        yield None


def only_what_has_no_room_is_lost(run: Run) -> Iterator[str]:
    """D71, D72: what is lost is the oldest of a full buffer, or computed from such, so that nothing is that is newer than what is kept; a
    client misses nothing that is kept wherever it was made; and where full buffers block, a source takes nothing in only where its buffer is full."""
    settings, oracle = run.scenario.settings, Oracle(run.scenario)
    most = settings.most_kept
    if most is None:
        return
    for drop in run.dropped:
        if drop.frontier - drop.below < most:
            yield (
                f"{drop.core}: lost {drop.stream} up to {drop.below} at {drop.at:.2f} s, and keeps less than {most} buckets"
            )
    given = [(stream, one.at, one.bucket, one.content) for (_, _, stream), all_ in run.finals.items() for one in all_]
    given += [(stream, one.at, one.bucket, one.content) for stream, all_ in run.deliveries.items() for one in all_]
    for stream, at, bucket, content in given:
        if content.lost and at < (bucket + most - oracle.history(stream)) * settings.bucket:
            yield f"{stream}: bucket {bucket} is lost at {at:.2f} s, though {most} buckets are kept"
    lost = {(stream, one.bucket) for (_, _, stream), all_ in run.finals.items() for one in all_ if one.content.lost}
    kept_from = _kept_from(run)
    for stream, all_ in run.deliveries.items():
        for one in all_:
            if one.content.lost and (stream, one.bucket) not in lost and one.bucket >= kept_from[stream]:
                yield f"{stream}: the client misses bucket {one.bucket} at {one.at:.2f} s, and nobody has lost it"
    for at, source, kept in run.pauses:
        if kept < most:
            yield f"{source}: takes nothing in at {at:.2f} s, and keeps {kept} of {most} buckets"


def _kept_from(run: Run) -> Counter[str]:
    """Of each stream, the first bucket that all who give it have always kept, once they had it."""
    found = Counter[str]()
    for moment in run.moments:
        for (_, stream), outlet in moment.outlets.items():
            found[stream] = max(found[stream], outlet.kept_from)
    return found


@AsItGoes
def nothing_is_hoarded(run: Run) -> Judging:
    """D69: what nobody needs any more is not kept: by sources and outputs once all readers have reached them for a while, by inputs
    always. One that is down, or cut off, may come back and ask: what it needs stays. A replica that is left behind by a move is told
    nothing any more, and ends with it."""
    apart = Apart(run.moments, TOLD)
    while True:
        for before, moment in apart:
            yield from _hoarded(before, moment)
        yield None


def _hoarded(before: Moment, moment: Moment) -> Iterator[str]:
    for (name, stream), outlet in moment.outlets.items():
        was = before.outlets.get((name, stream))
        needs = [_need(before, moment, name, stream, reader) for reader in outlet.readers]
        known = [need for need in needs if need is not None]
        # One that a move was to bring, and did not, is not waited for any more: that it needs nothing is heard later.
        if was is None or was.readers != outlet.readers or not outlet.kept or len(known) < len(needs):
            continue
        # What it has only just computed itself, for readers that have it from another replica, goes with the next heartbeat.
        needed = min([was.frontier, *known])
        if outlet.kept_from < needed:
            yield (
                f"{name}: {stream} is kept from {outlet.kept_from} on at {moment.at:.2f} s; nobody needs anything "
                f"before {needed}"
            )
    for (name, stream), port in moment.ports.items():
        then = before.ports.get((name, stream))
        alive = moment.living[name] < before.at
        if then is None or not alive:
            continue
        # A change may ask for more of the past: what it needs of that now, it rightly did not forget.
        needed = min(then.needed, then.frontier, port.needed)
        if port.lowest < needed:
            yield f"{name}: holds {stream} from {port.lowest} on at {moment.at:.2f} s; it needs it from {needed} on"


def _need(before: Moment, moment: Moment, producer: str, stream: str, reader: str) -> int | None:
    """What the reader needed then, if it could say so ever since."""
    since = moment.links.get((producer, reader))
    living = all(name in moment.living and moment.living[name] < before.at for name in (producer, reader))
    port = before.ports.get((reader, stream))
    if since is None or since > before.at or not living or port is None or producer not in port.producers:
        return None
    return port.frontier if reader == CLIENT else port.wanted
