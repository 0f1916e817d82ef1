"""Experiments as a page of Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from auroral.sim.experiments.values import Experiment, Plot


def file_name(experiment: Experiment, plot: Plot) -> str:
    """Of the picture of a plot."""
    words = "".join(c if c.isalnum() else " " for c in plot.title.lower()).split()
    return "-".join([experiment.name.lower(), *words]) + ".svg"


def markdown(experiments: Sequence[Experiment], head: str, with_plots: bool, title: str = "Experiments on DPC") -> str:
    return (
        "\n".join([f"# {title}", "", head, *(line for one in experiments for line in _section(one, with_plots))]) + "\n"
    )


def _section(experiment: Experiment, with_plots: bool) -> Iterator[str]:
    yield from ("", f"## {experiment.name}. {experiment.title}", "", experiment.setting, "")
    yield from _table(experiment.head, experiment.rows)
    yield ""
    yield from _table(
        ("published", "measured", "holds", "why"),
        [
            (s.published, s.measured, "yes" if s.holds else "no", "" if s.holds else s.why)
            for s in experiment.statements
        ],
    )
    for plot in experiment.plots if with_plots else ():
        yield from ("", f"![{plot.title}]({file_name(experiment, plot)})")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
