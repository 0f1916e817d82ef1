"""E5: chains of one to four replicated nodes, each of which may hold a bucket for D."""

from __future__ import annotations

from auroral.dpc.settings import Policy, Settings
from auroral.sim.experiments.running import AFTER, BEGIN, Case, Costs, Seen, run, slope
from auroral.sim.experiments.values import Experiment, Plot, Series, Statement

SHARE, RATE = 2.0, 500
DEPTHS, FAILURES = (1, 2, 3, 4), (5.0, 15.0, 30.0, 60.0)
POLICIES = (Policy.DELAY, Policy.PROCESS)
LONG, LONGEST = 30.0, 60.0


def experiment(costs: Costs) -> Experiment:
    found = {
        (policy, depth, length): _run(policy, depth, length, costs)
        for policy in POLICIES
        for depth in DEPTHS
        for length in FAILURES
    }
    latency = {p: [(float(n), found[p, n, LONG].measured.proc_new) for n in DEPTHS] for p in POLICIES}
    gain = {(n, f): _gain(found, n, f) for n in DEPTHS for f in FAILURES}
    deepest = DEPTHS[-1]
    statements = (
        Statement(
            "Delay: the latency of new results grows by about D with each node",
            f"{slope(latency[Policy.DELAY]):.2f} s a node; D is {SHARE:g} s",
            abs(slope(latency[Policy.DELAY]) - SHARE) < 0.25 * SHARE,
        ),
        Statement(
            "Process: all nodes hold together: the delay of one node and a little for each further one (below 0.3 s)",
            f"{latency[Policy.PROCESS][0][1]:.2f} s for one node, {slope(latency[Policy.PROCESS]):.2f} s for each further one",
            slope(latency[Policy.PROCESS]) < 0.3,
            "each further node adds a job, and one takes longer than that here",
        ),
        Statement(
            "both keep the bound of D for each node",
            "; ".join(
                f"{n} nodes {max(found[p, n, f].measured.proc_new for p in POLICIES for f in FAILURES):.2f} s"
                for n in DEPTHS
            ),
            all(seen.measured.delay_new < SHARE * n for (_, n, _), seen in found.items()),
        ),
        Statement(
            "Delay gives fewer tentative tuples, the more the deeper the chain is",
            "; ".join(f"{n} nodes {gain[n, LONG]:,} rows fewer" for n in DEPTHS),
            gain[deepest, LONG] > gain[1, LONG] > 0,
        ),
        Statement(
            f"for a failure of {LONGEST:g} s Delay saves D of the last node only, whatever the depth",
            "; ".join(f"{n} nodes {gain[n, LONGEST]:,} rows fewer" for n in DEPTHS)
            + f"; {SHARE:g} s are {round(SHARE * RATE):,}",
            max(gain[n, LONGEST] for n in DEPTHS) < 1.5 * SHARE * RATE,
            "each node of this chain holds new buckets for D of its own to the end of the failure, and so all of them together save D for each node",
        ),
    )
    rows = tuple(
        (
            f"{policy.name.capitalize()}, {n} nodes",
            *(
                f"{found[policy, n, f].measured.proc_new:.2f} s / {found[policy, n, f].measured.n_tentative:,}"
                for f in FAILURES
            ),
        )
        for policy in POLICIES
        for n in DEPTHS
    )
    lines = tuple(Series(p.name.capitalize(), tuple(latency[p])) for p in POLICIES)
    numbers = tuple(
        Series(
            f"{p.name.capitalize()}, {f:g} s",
            tuple((float(n), float(found[p, n, f].measured.n_tentative)) for n in DEPTHS),
        )
        for p in POLICIES
        for f in FAILURES
    )
    return Experiment(
        "E5",
        "Chains of nodes",
        f"Chains of 1 to 4 nodes with two replicas each, {RATE} rows/s; a node holds a bucket for D = {SHARE:g} s at most, X = {SHARE:g} s a node. "
        "One stream goes on giving rows and closes no bucket.",
        ("policy, depth", *(f"{f:g} s: latency / tentative rows" for f in FAILURES)),
        rows,
        statements,
        (
            Plot(
                f"Largest latency of new results, failure of {LONG:g} s",
                "nodes",
                "latency [s]",
                lines,
                tuple((float(n), SHARE * n) for n in DEPTHS),
            ),
            Plot("Tentative rows", "nodes", "rows", numbers),
        ),
    )


def _gain(found: dict[tuple[Policy, int, float], Seen], depth: int, length: float) -> int:
    return (
        found[Policy.PROCESS, depth, length].measured.n_tentative
        - found[Policy.DELAY, depth, length].measured.n_tentative
    )


def _run(policy: Policy, depth: int, length: float, costs: Costs) -> Seen:
    healed = BEGIN + length
    settings = Settings(bucket=0.25, bound=SHARE * depth, share=SHARE, while_failing=policy, while_correcting=policy)
    faults = f"at {BEGIN:g}s open s0; at {healed:g}s close s0"
    return run(Case(faults, healed + AFTER, settings, costs, RATE, depth, replicas=2))
