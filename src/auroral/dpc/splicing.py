"""A diagram whose fragments had several versions, one after the other, as one diagram: what a run without failures gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from auroral.dpc.fragments import Fragment, Fragments
from auroral.model.aggregates import called_functions
from auroral.model.boxes.drop import RandomDrop, WindowDrop
from auroral.model.boxes.splice import Splice
from auroral.model.checking import Checked, check
from auroral.model.diagram import Box, Query

Later = Mapping[str, Sequence[tuple[int, Fragment]]]
"""By fragment: its versions behind the first, each with the stime from which on it holds."""


def spliced(first: Checked, fragments: Fragments, later: Later) -> Checked:
    # What reads or writes a table depends on all of the past, and has one version.
    queries = tuple(
        Query(
            fragment.name,
            tuple(_boxes(fragment, later.get(fragment.name, ()))),
            tuple(fragment.checked.diagram.tables),
        )
        for fragment in fragments.all
    )
    all_versions = [*fragments.all, *(one for versions in later.values() for _, one in versions)]
    used = called_functions(box.typed for fragment in all_versions for box in fragment.checked.boxes)
    return check(replace(first.diagram, queries=queries), used)


def _boxes(fragment: Fragment, later: Sequence[tuple[int, Fragment]]) -> Iterator[Box]:
    if not later:
        yield from fragment.checked.diagram.boxes
        return
    versions = [fragment, *(one for _, one in later)]
    for number, version in enumerate(versions):
        for box in version.checked.diagram.boxes:
            inputs = tuple(s if s in version.inputs else name_of_version(s, number) for s in box.inputs)
            outputs = tuple(name_of_version(stream, number) for stream in box.outputs)
            # Whatever it is called here, it drops what it dropped.
            spec = replace(box.spec, seed=box.name) if isinstance(box.spec, RandomDrop | WindowDrop) else box.spec
            yield replace(box, name=name_of_version(box.name, number), spec=spec, inputs=inputs, outputs=outputs)
    starts = tuple(start for start, _ in later)
    for stream in fragment.streams:
        parts = tuple(name_of_version(stream, number) for number in range(len(versions)))
        yield Box(f"{stream}~spliced", Splice(starts), parts, (stream,))


def name_of_version(name: str, number: int) -> str:
    return f"{name}~{number}"
