"""E4: six combinations of what is done during a failure and while it is corrected."""

from __future__ import annotations

from auroral.dpc.settings import Policy, Settings
from auroral.sim.experiments.running import AFTER, BEGIN, LONG_JOBS, Case, Costs, Seen, policies, run
from auroral.sim.experiments.values import Experiment, Plot, Series, Statement

BOUND, LIMIT, RATE = 2.7, 3.0, 4500
FAILURES = (2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
P, D, S = Policy.PROCESS, Policy.DELAY, Policy.SUSPEND
COMBINATIONS = ((P, P), (P, D), (D, P), (D, D), (P, S), (D, S))

Results = dict[tuple[Policy, Policy], dict[float, Seen]]


def experiment(costs: Costs) -> Experiment:
    found = {pair: {length: _run(pair, length, costs) for length in FAILURES} for pair in COMBINATIONS}
    keep = COMBINATIONS[:4]
    long = [length for length in FAILURES if length > BOUND]
    most = {pair: sum(found[pair][length].measured.n_tentative for length in long) for pair in keep}
    meets = {pair: max(seen.measured.proc_new for seen in found[pair].values()) for pair in COMBINATIONS}
    saving = [found[P, P][length].measured.n_tentative - found[D, D][length].measured.n_tentative for length in long]
    statements = (
        Statement(
            "all that go on while correcting keep the bound, for every length of failure",
            "; ".join(f"{policies(*pair)} {meets[pair]:.2f} s" for pair in keep) + f"; the limit is {LIMIT:g} s",
            all(meets[pair] < LIMIT for pair in keep),
        ),
        Statement(
            "Process & Process gives most tentative tuples, Delay & Delay fewest",
            "; ".join(f"{policies(*pair)} {count:,}" for pair, count in most.items()),
            max(most.values()) == most[P, P] and min(most.values()) == most[D, D],
            "what Delay still holds when the failure heals is guessed at once by Process: the buckets before it are being corrected",
        ),
        Statement(
            "Delay & Delay saves what arrives in D, however long the failure",
            f"between {min(saving):,} and {max(saving):,} rows; {BOUND:g} s of two streams are {round(RATE * 2 / 3 * BOUND):,}",
            min(saving) > 0.5 * RATE * 2 / 3 * BOUND and max(saving) < 1.5 * RATE * BOUND,
            LONG_JOBS,
        ),
        _suspended("Process & Suspend keeps the bound only up to failures of about 8 s", found[P, S], breaks_at=8.0),
        _suspended(
            "Delay & Suspend breaks the bound: D and the time of correcting add up", found[D, S], breaks_at=BOUND
        ),
        Statement(
            "a failure shorter than D gives nothing tentative",
            f"{sum(found[pair][FAILURES[0]].measured.n_tentative for pair in COMBINATIONS)} rows for {FAILURES[0]:g} s",
            not any(found[pair][FAILURES[0]].measured.n_tentative for pair in COMBINATIONS),
        ),
    )
    rows = tuple(
        (
            policies(*pair),
            *(
                f"{found[pair][length].measured.proc_new:.2f} s / {found[pair][length].measured.n_tentative:,}"
                for length in FAILURES
            ),
        )
        for pair in COMBINATIONS
    )
    return Experiment(
        "E4",
        "Six combinations of policies",
        f"One node, {RATE:,} rows/s, D = X = {BOUND:g} s, so that new results must come within {LIMIT:g} s; one of three streams is silent.",
        ("failure & correction", *(f"{length:g} s: latency / tentative rows" for length in FAILURES)),
        rows,
        statements,
        (
            Plot("Largest latency of new results", "failure [s]", "latency [s]", _lines(found, "proc_new"), _limit()),
            Plot("Tentative rows", "failure [s]", "rows", _lines(found, "n_tentative")),
        ),
    )


def _suspended(published: str, seen: dict[float, Seen], breaks_at: float) -> Statement:
    """The original system corrected about three times as fast as rows came."""
    kept = [length for length, one in seen.items() if one.measured.proc_new < LIMIT]
    broken = [length for length in FAILURES if length not in kept]
    return Statement(
        published,
        "; ".join(f"{length:g} s: {one.measured.proc_new:.2f} s" for length, one in seen.items()),
        bool(broken) and min(broken) >= breaks_at,
        "a job takes so long here that also shorter failures break it"
        if broken
        else "many buckets are corrected by one job, in less time than X leaves",
    )


def _limit() -> tuple[tuple[float, float], ...]:
    return ((FAILURES[0], LIMIT), (FAILURES[-1], LIMIT))


def _lines(found: Results, measure: str) -> tuple[Series, ...]:
    return tuple(
        Series(
            policies(*pair), tuple((length, float(getattr(seen.measured, measure))) for length, seen in each.items())
        )
        for pair, each in found.items()
    )


def _run(pair: tuple[Policy, Policy], length: float, costs: Costs) -> Seen:
    healed = BEGIN + length
    settings = Settings(bucket=0.25, bound=BOUND, while_failing=pair[0], while_correcting=pair[1])
    faults = f"at {BEGIN:g}s silence s0; at {healed:g}s resume s0"
    return run(Case(faults, healed + AFTER, settings, costs, RATE))
