"""E6: the bound divided among the nodes of a chain, or all of it for each."""

from __future__ import annotations

from auroral.dpc.settings import Policy, Settings
from auroral.sim.experiments.running import AFTER, BEGIN, Case, Costs, Seen, run
from auroral.sim.experiments.values import Experiment, Plot, Series, Statement

BOUND, DEPTH, RATE = 8.0, 4, 500
SPREAD = 0.11
"""Between runs of the same case, as published: what differs by less is about the same."""
FAILURES = (5.0, 10.0, 15.0, 30.0, 60.0)
DIVIDED_DELAY, DIVIDED, WHOLE = "2 s each, Delay", "2 s each, Process", "all of X, Process"
ASSIGNMENTS: dict[str, tuple[Policy, float | None]] = {
    DIVIDED_DELAY: (Policy.DELAY, BOUND / DEPTH),
    DIVIDED: (Policy.PROCESS, BOUND / DEPTH),
    WHOLE: (Policy.PROCESS, None),
}


def experiment(costs: Costs) -> Experiment:
    found = {name: {length: _run(*given, length, costs) for length in FAILURES} for name, given in ASSIGNMENTS.items()}
    shortest, longest = FAILURES[0], FAILURES[-1]
    worst = {name: max(seen.measured.proc_new for seen in each.values()) for name, each in found.items()}
    few, many = (found[name][longest].measured.n_tentative for name in (DIVIDED_DELAY, WHOLE))
    statements = (
        Statement(
            f"all of X for each node: a failure of {shortest:g} s gives nothing tentative",
            f"{found[WHOLE][shortest].measured.n_tentative:,} rows",
            found[WHOLE][shortest].measured.n_tentative == 0,
        ),
        Statement(
            f"divided, Process: a failure of {shortest:g} s gives tentative tuples",
            f"{found[DIVIDED][shortest].measured.n_tentative:,} rows",
            found[DIVIDED][shortest].measured.n_tentative > 0,
        ),
        Statement(
            f"divided, Delay: a failure of {shortest:g} s gives tentative tuples",
            f"{found[DIVIDED_DELAY][shortest].measured.n_tentative:,} rows",
            found[DIVIDED_DELAY][shortest].measured.n_tentative > 0,
            "a node further on holds what is tentative for its own D, and the correction overtakes it",
        ),
        Statement(
            "all keep the bound, whatever the depth",
            "; ".join(f"{name}: {latency:.2f} s" for name, latency in worst.items()) + f"; X is {BOUND:g} s",
            all(seen.measured.delay_new < BOUND for each in found.values() for seen in each.values()),
        ),
        Statement(
            "divided and Process has the lowest latency",
            f"{worst[DIVIDED]:.2f} s",
            worst[DIVIDED] == min(worst.values()),
        ),
        Statement(
            f"for long failures all give about the same number of tentative tuples ({longest:g} s)",
            "; ".join(f"{name}: {each[longest].measured.n_tentative:,}" for name, each in found.items()),
            abs(few - many) < SPREAD * many,
            "a chain in which every node holds back to the end of the failure saves all of X",
        ),
    )
    rows = tuple(
        (name, *(f"{each[f].measured.proc_new:.2f} s / {each[f].measured.n_tentative:,}" for f in FAILURES))
        for name, each in found.items()
    )
    return Experiment(
        "E6",
        "Assigning delays",
        f"A chain of {DEPTH} nodes with two replicas each, X = {BOUND:g} s, {RATE} rows/s; one stream closes no bucket.",
        ("assignment", *(f"{f:g} s: latency / tentative rows" for f in FAILURES)),
        rows,
        statements,
        (
            Plot(
                "Largest latency of new results",
                "failure [s]",
                "latency [s]",
                tuple(
                    Series(name, tuple((f, seen.measured.proc_new) for f, seen in each.items()))
                    for name, each in found.items()
                ),
                ((FAILURES[0], BOUND), (FAILURES[-1], BOUND)),
            ),
            Plot(
                "Tentative rows",
                "failure [s]",
                "rows",
                tuple(
                    Series(name, tuple((f, float(seen.measured.n_tentative)) for f, seen in each.items()))
                    for name, each in found.items()
                ),
            ),
        ),
    )


def _run(policy: Policy, share: float | None, length: float, costs: Costs) -> Seen:
    healed = BEGIN + length
    settings = Settings(bucket=0.25, bound=BOUND, share=share, while_failing=policy, while_correcting=policy)
    faults = f"at {BEGIN:g}s open s0; at {healed:g}s close s0"
    return run(Case(faults, healed + AFTER, settings, costs, RATE, DEPTH, replicas=2))
