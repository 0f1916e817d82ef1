"""E3: holding back each bucket, or only the first, over several lengths of the delay."""

from __future__ import annotations

from auroral.dpc.settings import Policy, Settings
from auroral.sim.experiments.running import AFTER, BEGIN, Case, Costs, Seen, run, slope, straightness
from auroral.sim.experiments.values import Experiment, Plot, Series, Statement

FAILURE, RATE = 5.0, 3000
DELAYS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0)


def experiment(costs: Costs) -> Experiment:
    found = {
        policy: {delay: _run(policy, delay, costs) for delay in DELAYS} for policy in (Policy.PROCESS, Policy.DELAY)
    }
    process, delay = found[Policy.PROCESS], found[Policy.DELAY]
    below = [d for d in DELAYS if d < FAILURE - 0.5]
    lines = {policy: [(d, seen[d].measured.proc_new) for d in below] for policy, seen in found.items()}
    falling = [(d, float(delay[d].measured.n_tentative)) for d in below]
    flat = [process[d].measured.n_tentative for d in below]
    masked = [d for d in DELAYS if d > FAILURE + 0.5]
    statements = (
        *(
            Statement(
                f"{policy.name.capitalize()}: the latency of new results grows linearly with D",
                f"slope {slope(points):.2f}, squared correlation {straightness(points):.3f}",
                abs(slope(points) - 1) < 0.1 and straightness(points) > 0.98,
            )
            for policy, points in lines.items()
        ),
        Statement(
            "Process: the number of tentative tuples is about a step: the node catches up with what it held",
            f"between {min(flat):,} and {max(flat):,} for D up to {below[-1]:g} s",
            max(flat) - min(flat) < 0.2 * max(flat),
        ),
        Statement(
            "Delay: the number falls in proportion to D",
            f"{-slope(falling):,.0f} fewer for each second of D, squared correlation {straightness(falling):.3f}",
            slope(falling) < -0.5 * RATE * 2 / 3 and straightness(falling) > 0.95,
            "with a D that is hardly longer than a job, buckets are guessed that nothing held up",
        ),
        Statement(
            "a failure shorter than D gives nothing tentative",
            f"D of {', '.join(f'{d:g}' for d in masked)} s: "
            f"{sum(seen[d].measured.n_tentative for seen in found.values() for d in masked)} tentative rows",
            not any(seen[d].measured.n_tentative for seen in found.values() for d in masked),
        ),
    )
    rows = tuple(
        (
            f"{d:g}",
            f"{process[d].measured.proc_new:.2f} s",
            f"{delay[d].measured.proc_new:.2f} s",
            f"{process[d].measured.n_tentative:,}",
            f"{delay[d].measured.n_tentative:,}",
        )
        for d in DELAYS
    )
    latency = tuple(
        Series(p.name.capitalize(), tuple((d, seen[d].measured.proc_new) for d in DELAYS)) for p, seen in found.items()
    )
    number = tuple(
        Series(p.name.capitalize(), tuple((d, float(seen[d].measured.n_tentative)) for d in DELAYS))
        for p, seen in found.items()
    )
    return Experiment(
        "E3",
        "Delay or Process during a failure",
        f"One node, {RATE:,} rows/s, one of three streams is silent for {FAILURE:g} s, D = X from {DELAYS[0]:g} to {DELAYS[-1]:g} s.",
        ("D [s]", "latency, Process", "latency, Delay", "tentative rows, Process", "tentative rows, Delay"),
        rows,
        statements,
        (
            Plot("Largest latency of new results", "D [s]", "latency [s]", latency, tuple((d, d) for d in DELAYS)),
            Plot("Tentative rows", "D [s]", "rows", number),
        ),
    )


def _run(policy: Policy, delay: float, costs: Costs) -> Seen:
    healed = BEGIN + FAILURE
    # Heartbeats twice as often as published: a failure must be noticed well within the shortest D.
    settings = Settings(bucket=0.1, bound=delay, ping_every=0.05, while_failing=policy, while_correcting=policy)
    return run(Case(f"at {BEGIN:g}s silence s0; at {healed:g}s resume s0", healed + AFTER, settings, costs, RATE))
