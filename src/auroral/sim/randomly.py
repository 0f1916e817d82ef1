"""Scenarios drawn from a seed: fragments, settings, and what happens to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from auroral.dpc.coverage import AtLeast, Level
from auroral.dpc.keeping import must_have_room
from auroral.dpc.settings import Policy, Settings, WhenFull, WrongSettings
from auroral.dpc.values import Content
from auroral.sim.failing import random_faults
from auroral.sim.faultkinds import Draw, Pairs, last_fault, pair_of
from auroral.sim.faults import CATALOG_HOST, OF_CLOCKS, OF_SOURCES, Fault
from auroral.sim.invariants.bounds import promised
from auroral.sim.oracle import Oracle
from auroral.sim.scenario import QUICK, Fragment, Scenario, host
from auroral.sim.standin import Kind, Query, content

UNFOLDED = (Kind.UNION, Kind.UNION, Kind.FILTER, Kind.WINDOW, Kind.JOIN)
MOSTLY = Policy.PROCESS
OTHERS = (Policy.DELAY, Policy.ADAPT, Policy.SUSPEND, Policy.PROCESS)
ALONE = 10.0
"""Seconds before and after a disk is lost in which nothing happens to the other replicas."""
FURTHEST = 5000.0
"""Seconds that a clock may be ahead or behind."""


def random_scenario(seed: int) -> Scenario:
    draw = Draw(seed)
    sources = tuple(f"s{i}" for i in range(3))
    queries = _queries(draw, sources)
    folding = {query.name for query in queries if query.kind is Kind.FOLD}
    settings = _settings(draw, bool(folding))
    calm = Scenario(
        seed,
        sources,
        queries,
        {query.name: draw.randint(2, 3) for query in queries},
        settings,
        float(draw.randint(60, 120)),
        job=draw.choice((0.03, 0.03, 0.03, 0.1, 1.1 * settings.bucket)),
        failing_jobs=draw.choice((0.0, 0.01)),
        chunks=draw.random() < 0.3,
        skews={source: round(draw.uniform(0, 0.2), 2) for source in sources} if draw.random() < 0.3 else {},
        # The state of a fold is gone for good when all of its replicas lose their disks, which these schedules do to the others.
        durable=frozenset(query.name for query in queries if query.name in folding or draw.random() < 0.15),
    )
    calm = replace(calm, settings=_with_bound(draw, calm))
    wild = replace(calm, faults=random_faults(draw, calm))
    wild = replace(wild, clocks=_clocks(draw, wild))
    wild = replace(wild, queries=tuple(_constrained(draw, wild, query) for query in queries))
    whole = replace(wild, faults=tuple(sorted([*wild.faults, *_abandoned(draw, wild)])))
    return _losing(_costly(_taking_turns(_as_deployed(_reading_otherwise(_guessing_right(whole))))))


def _guessing_right(scenario: Scenario) -> Scenario:
    """In some the sources have rows now and then only, so that much of what is guessed is right, and what is made from that
    remembers: some that reads another query's stream becomes a fold or a window."""
    draw = Draw(f"{scenario.seed} guessing right")
    if draw.random() > 0.15:
        return scenario
    rows = {source: tuple(_now_and_then(draw) for _ in range(scenario.buckets)) for source in scenario.sources}
    queries = tuple(_remembering(draw, scenario, query) for query in scenario.queries)
    folding = {query.name for query in queries if query.kind is Kind.FOLD}
    settings = replace(scenario.settings, when_full=WhenFull.BLOCK) if folding else scenario.settings
    found = replace(scenario, queries=queries, rows=rows, settings=settings, durable=scenario.durable | folding)
    more = (*_changed_while_guessing(draw, found), *_guessed_differently(draw, found))
    found = replace(found, faults=tuple(sorted([*found.faults, *more])))
    try:
        must_have_room(found.specs, found.settings)
    except WrongSettings:
        return replace(scenario, rows=rows)
    return found


def _changed_while_guessing(draw: Draw, scenario: Scenario) -> Iterator[Fault]:
    """A source is away for a while, and what is computed from it gets another version: the last one has guessed what lies behind it."""
    busy = {fault.places[0] for fault in scenario.faults if fault.verb == "silence"}
    away = [source for source in scenario.sources if source not in busy]
    if not away:
        return
    source, begin = draw.choice(away), draw.uniform(3, last_fault(scenario) - 15)
    yield from pair_of(scenario, begin, draw.uniform(9, 14), "silence", source)
    behind = [query for query in scenario.queries if source in scenario.computed_from(query.streams[0])]
    for query in draw.sample(behind, min(2, len(behind))):
        yield Fault(round(begin + draw.uniform(4, 8), 1), "change", (query.name,))


def _guessed_differently(draw: Draw, scenario: Scenario) -> Iterator[Fault]:
    """An input is cut off from one replica after the other, so that they guess differently, and who reads from them has what one of
    them guessed when the other confirms its own."""
    links = {frozenset(fault.places) for fault in scenario.faults if fault.verb == "cut"}
    for query in scenario.queries:
        source = next((name for name in query.inputs if name in scenario.sources), None)
        hosts = [host(name) for name in scenario.members(query)]
        if source is None or any(frozenset((source, where)) in links for where in hosts):
            continue
        begin = draw.uniform(3, last_fault(scenario) - 15)
        for where in draw.sample(hosts, 2):
            yield from pair_of(scenario, begin, draw.uniform(6, 10), "cut", source, where)
            begin += draw.uniform(2, 5)


def _now_and_then(draw: Draw) -> Content:
    return content(tuple(draw.getrandbits(40) for _ in range(draw.choice((0, 0, 0, 0, 0, 0, 1, 2)))))


def _remembering(draw: Draw, scenario: Scenario, query: Fragment) -> Query:
    assert isinstance(query, Query)
    if draw.random() < 0.2 or set(query.inputs) <= set(scenario.sources) or query.constraints:
        return query
    kind = draw.choice((Kind.FOLD, Kind.FOLD, Kind.WINDOW))
    return replace(query, kind=kind, horizon=1 if kind is Kind.FOLD else draw.randint(3, 8))


def _reading_otherwise(scenario: Scenario) -> Scenario:
    """Most queries that are changed read something else from then on: other streams, or more or less of the past. Not from further away: the
    bound is for the first version. Nor where full buffers would have no room for it."""
    draw, oracle = Draw(f"{scenario.seed} reading otherwise"), Oracle(scenario)
    changed = {fault.places[0] for fault in scenario.faults if fault.verb == "change"}
    later: dict[str, tuple[Query, ...]] = {}
    known = list(scenario.sources)
    for query in scenario.queries:
        assert isinstance(query, Query)
        near = [stream for stream in known if oracle.depth(stream) < oracle.depth(query.stream)]
        known += query.streams
        if query.name in changed and query.kind is not Kind.FOLD and not query.constraints and draw.random() < 0.8:
            later[query.name] = tuple(_another(draw, query, near) for _ in range(draw.randint(1, 2)))
    found = replace(scenario, later=later)
    try:
        must_have_room(found.specs, found.settings)
    except WrongSettings:
        return scenario
    return found


def _another(draw: Draw, query: Query, near: list[str]) -> Query:
    kind = draw.choice(UNFOLDED)
    count = 1 if kind in (Kind.FILTER, Kind.WINDOW) else 2
    inputs = draw.sample(near, min(count, len(near)))
    # Also longer than what has come by then of an input that was not read before.
    horizon = draw.choice((1, 3, 8, 20)) if kind in (Kind.WINDOW, Kind.JOIN) else 1
    return replace(query, kind=kind if len(inputs) == count else Kind.FILTER, inputs=tuple(inputs), horizon=horizon)


def _as_deployed(scenario: Scenario) -> Scenario:
    """Some are as deployments of processes are: all replicas have disks; and once everybody goes down, and comes back."""
    draw = Draw(f"{scenario.seed} as deployed")
    if draw.random() > 0.15:
        return scenario
    everybody = tuple(where for where in scenario.hosts if where != CATALOG_HOST)
    down = pair_of(scenario, draw.uniform(5, last_fault(scenario) - 2), draw.uniform(0.5, 5.0), "crash", *everybody)
    durable = frozenset(query.name for query in scenario.queries)
    found = replace(scenario, durable=durable, faults=tuple(sorted([*scenario.faults, *down])))
    lost = tuple(_with_lost_disks(draw, found))
    return replace(found, faults=tuple(sorted([*lost, *_set_clocks(draw, lost)])))


def _with_lost_disks(draw: Draw, scenario: Scenario) -> Iterator[Fault]:
    """Of each query at most one replica, while nothing happens to the others: what all of them have lost, nobody has."""
    wholes = {
        host(name): set(map(host, scenario.replica_names(q))) for q in scenario.queries for name in scenario.members(q)
    }
    lost: set[str] = set()
    for fault in scenario.faults:
        replicas = wholes.get(fault.places[0], set()) if len(fault.places) == 1 else set()
        others = [one for one in scenario.faults if one != fault and not replicas.isdisjoint(one.places)]
        alone = not any(fault.at - ALONE < one.at < fault.at + 2 * ALONE and not one.ends for one in others)
        if fault.verb == "crash" and replicas and alone and lost.isdisjoint(replicas) and draw.random() < 0.8:
            lost |= replicas
            yield replace(fault, verb="destroy")
        else:
            yield fault


def _set_clocks(draw: Draw, faults: Sequence[Fault]) -> Iterator[Fault]:
    """Of some hosts that are down: at the moment they come back, and in the order of faults just before it."""
    for fault in faults:
        if fault.verb == "restart" and draw.random() < 0.3:
            seconds = str(round(draw.choice((1.0, 30.0, FURTHEST)) * draw.random(), 2))
            yield Fault(fault.at, draw.choice(OF_CLOCKS), (draw.choice(fault.places), seconds))


def _taking_turns(scenario: Scenario) -> Scenario:
    """In some the bound has no room for what replicas set aside: they cannot answer in time while they correct, and take turns.

    There is no bound that something new could keep to, so it waits until all is corrected. Nor is there time to try another replica
    before something is guessed, so inputs fail for all replicas at once.
    """
    draw, settings = Draw(f"{scenario.seed} taking turns"), scenario.settings
    if draw.random() > 0.08:
        return scenario
    tight = replace(
        settings, bound=2 * settings.detection, share=None, while_failing=MOSTLY, while_correcting=Policy.SUSPEND
    )
    found = replace(scenario, settings=tight, job=0.1, job_bucket=0.02, faults=())
    rounds = draw.randint(2, 3)
    starts = [5 + (last_fault(found) - 15) * (i + draw.uniform(0, 0.5)) / rounds for i in range(rounds)]
    turns = [fault for start in starts for pair in _turn(draw, found, start) for fault in pair]
    return replace(found, faults=tuple(sorted(turns)))


def _costly(scenario: Scenario) -> Scenario:
    """In some a bucket takes a good part of its own time, so that a job for many of them takes far longer than one for a single one, and
    what waits for a guess cannot be guessed all at once."""
    draw, settings = Draw(f"{scenario.seed} costly"), scenario.settings
    if draw.random() > 0.12 or not promised(settings) or settings.bound == float("inf"):
        return scenario
    found = replace(scenario, job_bucket=draw.choice((0.1, 0.2)) * settings.bucket)
    bound = max(settings.bound, round(least_bound(found) + 0.5, 1)) + draw.choice((0.0, 2.0, 5.0))
    busy = {fault.places[0] for fault in scenario.faults if fault.verb in OF_SOURCES}
    away = [source for source in scenario.sources if source not in busy]
    begin = draw.uniform(3, max(4.0, last_fault(scenario) - bound - 5))
    longer = pair_of(scenario, begin, bound + draw.uniform(1, 5), "silence", draw.choice(away)) if away else ()
    settings = replace(settings, bound=bound)
    return replace(found, settings=settings, faults=tuple(sorted([*scenario.faults, *longer])))


def _losing(scenario: Scenario) -> Scenario:
    """In some what has no room is lost, and a reader is away for longer than there is room for: it goes on behind a gap (D71)."""
    draw, oracle = Draw(f"{scenario.seed} losing"), Oracle(scenario)
    folds = any(output.folds for output in scenario.specs.values())
    if draw.random() > 0.06 or folds or scenario.job_bucket > QUICK:
        return scenario
    room = max(map(oracle.history, scenario.outputs)) + draw.randint(20, 40)
    settings = replace(scenario.settings, most_kept=room, when_full=WhenFull.LOSE)
    cut = {fault.places[0] for fault in scenario.faults if fault.verb == "cut" and len(fault.places) == 1}
    nodes = [where for where in scenario.hosts if where not in {*scenario.sources, CATALOG_HOST, *cut}]
    length = room * settings.bucket + draw.uniform(2, 6)
    away = pair_of(
        scenario, draw.uniform(3, max(4.0, last_fault(scenario) - length)), length, "cut", draw.choice(nodes)
    )
    return replace(scenario, settings=settings, faults=tuple(sorted([*scenario.faults, *away])))


def _turn(draw: Draw, scenario: Scenario, begin: float) -> Pairs:
    """A source is away for long enough; when it is back, and replicas correct, some that may have granted a turn, or have it, are lost."""
    source = draw.choice(scenario.sources)
    away, back = pair_of(scenario, begin, draw.uniform(4, 8), "silence", source)
    yield away, back
    using = [q for q in scenario.queries if all(source in scenario.computed_from(stream) for stream in q.streams)]
    for query in draw.sample(using, min(2, len(using))):
        verb, where = draw.choice(("crash", "unplug", "cut")), host(draw.choice(scenario.members(query)))
        yield pair_of(scenario, back.at + draw.uniform(0.1, 6.0), draw.uniform(1, 10), verb, where)


def _abandoned(draw: Draw, scenario: Scenario) -> Iterator[Fault]:
    """Some moves and changes are given up, be they over by then or not."""
    for fault in scenario.faults:
        if fault.verb in ("move", "change") and draw.random() < 0.2:
            query = next(query.name for query in scenario.queries if fault.places[0].startswith(query.name))
            yield Fault(round(fault.at + draw.uniform(0.1, 6.0), 1), "abandon", (query,))


def _constrained(draw: Draw, scenario: Scenario, query: Query) -> Query:
    """Some outputs are given only if enough of their sources are in them."""
    if draw.random() < 0.95:
        return query
    sources = scenario.computed_from(query.stream)
    worst = draw.choice((Level.PARTIAL, Level.PARTIAL, Level.COMPLETE))
    return replace(query, constraints=(AtLeast(draw.randint(1, len(sources)), frozenset(sources), worst),))


def _clocks(draw: Draw, scenario: Scenario) -> dict[str, float]:
    """Of each host its own: no core may compare its time with another's."""
    return {where: round(draw.uniform(-FURTHEST, FURTHEST), 3) for where in scenario.hosts}


def _settings(draw: Draw, folds: bool) -> Settings:
    """Mostly the default policies and as much room as is needed; sometimes others."""
    policies = (draw.choice(OTHERS), draw.choice(OTHERS)) if draw.random() < 0.25 else (MOSTLY, MOSTLY)
    room = draw.randint(60, 120) if draw.random() < 0.15 else None
    when_full = draw.choice((WhenFull.BLOCK, WhenFull.BLOCK if folds else WhenFull.LOSE))
    return Settings(
        bucket=draw.choice((0.25, 0.5)),
        bound=draw.choice((2.5, 3.0, 5.0)),
        ping_every=draw.choice((0.25, 0.3, 0.3, 0.3)),
        while_failing=policies[0],
        while_correcting=policies[1],
        most_kept=room,
        when_full=when_full,
    )


def least_bound(scenario: Scenario) -> float:
    """D43: what replicas set aside must leave time to notice a failure, or there is no way to keep the bound."""
    settings = scenario.settings
    work = max(map(Oracle(scenario).set_aside, scenario.outputs))
    return round(settings.detection + work, 1)


def _with_bound(draw: Draw, scenario: Scenario) -> Settings:
    settings, depth = scenario.settings, max(map(Oracle(scenario).depth, scenario.outputs))
    bound = max(settings.bound, round(least_bound(scenario) + 0.5, 1))
    if draw.random() < 0.04:
        return replace(settings, bound=float("inf"))
    # A job that fails is no reason to guess.
    share = max(settings.detection + 4 * scenario.job, round(bound / depth, 2)) if draw.random() < 0.08 else None
    return replace(settings, bound=bound, share=share)


def _queries(draw: Draw, sources: tuple[str, ...]) -> tuple[Query, ...]:
    """Four fragments, each over sources and streams before it; every source is read, and what nobody else reads is the client's."""
    free, queries = [*sources], list[Query]()
    for i in range(4):
        kind = Kind.FOLD if draw.random() < 0.05 else draw.choice(UNFOLDED)
        count = 1 if kind in (Kind.FILTER, Kind.WINDOW) else 2
        inputs = [free.pop(draw.randrange(len(free))) for _ in range(min(count, len(free)))]
        everything = [*sources, *(stream for query in queries for stream in query.streams)]
        while len(inputs) < count:
            other = draw.choice(everything)
            if other not in inputs:
                inputs.append(other)
        unread = [source for source in free if source in sources]
        if i == 3 and unread:
            kind, inputs = Kind.UNION, [*inputs, *unread]
            free = [stream for stream in free if stream not in unread]
        horizon = draw.randint(2, 5) if kind in (Kind.WINDOW, Kind.JOIN) else 1
        side = Query(f"q{i}x", Kind.WINDOW, (inputs[0],), 2) if draw.random() < 0.25 else None
        queries.append(Query(f"q{i}", kind, tuple(inputs), horizon, side))
        free += queries[-1].streams
    return tuple(queries)
