"""Plots of experiments as SVG files, by matplotlib where it is installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from auroral.sim.experiments.values import Plot


def can_draw() -> bool:
    return find_spec("matplotlib") is not None


def draw(plot: Plot, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    # The same picture for the same figures: no random ids, no date.
    mpl.rcParams["svg.hashsalt"] = plot.title
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    for series in plot.series:
        xs, ys = zip(*series.points, strict=True)
        if series.tentative:
            axes.plot(xs, ys, color="0.7", linewidth=1)
            for tentative, colour, name in ((False, "tab:blue", "stable"), (True, "tab:orange", "tentative")):
                chosen = [p for p, t in zip(series.points, series.tentative, strict=True) if t is tentative]
                axes.plot(*(zip(*chosen, strict=True) if chosen else ((), ())), ".", color=colour, label=name)
        else:
            axes.plot(xs, ys, "o-", label=series.name)
    if plot.bound:
        axes.plot(*zip(*plot.bound, strict=True), "--", color="tab:red", label="X")
    axes.set(title=plot.title, xlabel=plot.x, ylabel=plot.y)
    axes.set_ylim(bottom=0)
    axes.legend()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
