"""A diagram as it is to be, beside the one that is tried: the versions that its fragments are changed to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from auroral.model.checking import Checked
from auroral.model.deployment import Deployment
from auroral.sim.fragments import CannotBeSimulated, DiagramFragment, cut


def versions(
    before: Checked, fragments: Sequence[DiagramFragment], after: Checked, deployment: Deployment | None, replicas: int
) -> dict[str, tuple[DiagramFragment, ...]]:
    """Of fragments that it computes otherwise."""
    (found, read), (_, was_read) = (cut(checked, deployment, replicas) for checked in (after, before))
    later = {one.name: one for one in found}
    others = [f"the client would read {', '.join(read)}, and reads {', '.join(was_read)}"] if read != was_read else []
    if wrong := next(chain(_problems(before, fragments, after, later), others), None):
        raise CannotBeSimulated(
            f"the diagram cannot be changed to this one: {wrong}\n"
            "    allowed: the same inputs, outputs, buckets and queries, and queries that give each other the same streams\n"
            "    next: change what is within a query, or which of the streams that there are it reads"
        )
    return {one.name: (later[one.name],) for one in fragments if one.checked.diagram != later[one.name].checked.diagram}


def _problems(
    before: Checked, fragments: Sequence[DiagramFragment], after: Checked, later: dict[str, DiagramFragment]
) -> Iterator[str]:
    if before.diagram.bucket != after.diagram.bucket:
        yield f"its buckets are of {after.diagram.bucket} microseconds, and not of {before.diagram.bucket}"
    inputs = [
        [(one.stream, one.schema, one.stamp) for one in diagram.inputs] for diagram in (before.diagram, after.diagram)
    ]
    if inputs[0] != inputs[1]:
        yield "it has other inputs"
    places = [{one.name: one.hosts for one in each} for each in (fragments, later.values())]
    if places[0] != places[1]:
        yield f"it runs as {', '.join(places[1])}, and not as {', '.join(places[0])}"
        return
    known = {one.stream for one in before.diagram.inputs}
    for one in fragments:
        to = later[one.name]
        schemas = [{s: each.checked.streams[s].schema for s in each.streams} for each in (one, to)]
        if schemas[0] != schemas[1]:
            yield f"{one.name} would give other streams, or other fields of them: {', '.join(to.streams)}"
        if unknown := [stream for stream in to.inputs if stream not in known]:
            yield f"{one.name} would read {unknown[0]}, which nobody before it gives"
        reads = [{o.stream: (o.reads, o.required, o.folds) for o in each.outputs} for each in (one, to)]
        folded = [o.stream for each in (one, to) for o in each.outputs if o.folds]
        if differ := [s for s in folded if reads[0].get(s) != reads[1].get(s)]:
            yield f"{differ[0]} depends on all of the past, and would be of something else"
        known.update(one.streams)
