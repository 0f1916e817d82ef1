"""`auroral experiments contracts`: the published studies of the market, on all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context

from auroral.sim.experiments.values import Experiment
from auroral.sim.market.study import (
    c1_topologies,
    c2_allocation,
    c3_convergence,
    c4_stability,
    c5_contracts,
    c6_bids,
    c7_ranges,
    c8_larger,
)
from auroral.sim.market.study.grid import TOPOLOGIES, Grid, grid
from auroral.sim.market.study.populations import Variant

ALONE: dict[str, Callable[[], Experiment]] = {
    "C1": c1_topologies.experiment,
    "C4": c4_stability.experiment,
    "C5": c5_contracts.experiment,
    "C6": c6_bids.experiment,
    "C7": c7_ranges.experiment,
    "C8": c8_larger.experiment,
}
ON_GRID = ("C2", "C3")
NAMES = tuple(sorted((*ALONE, *ON_GRID)))
AT_ONCE = 2
"""Topologies in one piece of work: more take more memory, fewer more time."""
Done = Callable[[Experiment], None]


def run(names: Sequence[str], done: Done) -> list[Experiment]:
    """In the order of their names; `done` hears of each when it is there."""
    found: dict[str, Experiment] = {}
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        # What takes longest first.
        grids = _grids(pool, names)
        alone = {pool.submit(ALONE[name]): name for name in sorted(names, reverse=True) if name in ALONE}
        for future in as_completed(alone):
            found[alone[future]] = future.result()
            done(found[alone[future]])
        for name, experiment in _on_grid(names, {extra: _together(parts) for extra, parts in grids.items()}):
            found[name] = experiment
            done(experiment)
    return [found[name] for name in sorted(names)]


def _grids(pool: ProcessPoolExecutor, names: Sequence[str]) -> dict[int, list[Future[Grid]]]:
    """By what sellers ask too much: nothing for all variants, something for uniform ranges."""
    seeds = [range(first, min(first + AT_ONCE, TOPOLOGIES)) for first in range(0, TOPOLOGIES, AT_ONCE)]
    wanted = {0: list(Variant)} if set(ON_GRID) & set(names) else {}
    if "C3" in names:
        wanted |= {extra: [Variant.UNIFORM_RANGE] for extra in c3_convergence.OVER_PRICED}
    return {
        extra: [pool.submit(partial(grid, one, variants=variants, over_pricing=extra)) for one in seeds]
        for extra, variants in wanted.items()
    }


def _together(parts: list[Future[Grid]]) -> Grid:
    whole = Grid(parts[0].result().nodes)
    for part in parts:
        whole.add(part.result())
    return whole


def _on_grid(names: Sequence[str], grids: dict[int, Grid]) -> Iterator[tuple[str, Experiment]]:
    if "C2" in names:
        yield "C2", c2_allocation.experiment(grids[0])
    if "C3" in names:
        yield "C3", c3_convergence.experiment(grids[0], {extra: one for extra, one in grids.items() if extra})
