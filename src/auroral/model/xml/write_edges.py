"""Inputs and outputs of a diagram that is written, with what of them only words of ours can say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from auroral.model.diagram import Diagram, Input, Late, Output, Stamp
from auroral.model.duration import spell
from auroral.model.names import LOCAL
from auroral.model.stamps import with_stamps
from auroral.model.xml.diagram import MILLISECOND, longest_delays, usual_bucket
from auroral.model.xml.extensions import NEVER, PREFIX
from auroral.model.xml.read import Element
from auroral.model.xml.text import made
from auroral.model.xml.write_schemas import SchemaNames


class Edges:
    """Says only what a reader would not find out by itself, from the windows and from the sunions."""

    def __init__(self, diagram: Diagram, schemas: SchemaNames, exact: bool):
        self.diagram = diagram
        self.schemas = schemas
        self.exact = exact
        silent = replace(diagram, inputs=tuple(replace(given, stamp=None) for given in diagram.inputs))
        self.found = with_stamps(silent)[0].inputs
        self.delays = longest_delays(list(diagram.boxes))

    def of_diagram(self) -> dict[str, str]:
        said = {}
        if self.diagram.bucket != usual_bucket(self.diagram.boxes):
            said[f"{PREFIX}bucket"] = spell(self.diagram.bucket)
        if self.diagram.participant != LOCAL:
            said[f"{PREFIX}participant"] = self.diagram.participant
        return said

    def inputs(self) -> Iterator[Element]:
        for given, found in zip(self.diagram.inputs, self.found, strict=True):
            attributes = {"stream": given.stream, "schema": self.schemas.of(given.schema, given.stream)}
            yield made("input", {**attributes, "node": given.node, **self._of_input(given, found)})

    def _of_input(self, given: Input, found: Input) -> dict[str, str]:
        said: dict[str, str] = {}
        if given.stamp is not None and given.stamp != found.stamp:
            said |= _stamp(given.stamp)
        if given.late is not Late.MOVE:
            said["late"] = str(given.late)
        if given.any_case == self.exact:
            said["any-case"] = str(int(given.any_case))
        return {f"{PREFIX}{name}": value for name, value in said.items()}

    def outputs(self) -> Iterator[Element]:
        for output in self.diagram.outputs:
            schema = None if output.schema is None else self.schemas.of(output.schema, output.stream)
            sites = (made(f"{PREFIX}of", {"stream": site}) for site in output.of)
            yield made("output", {"stream": output.stream, "schema": schema, **self._of_output(output)}, *sites)

    def _of_output(self, output: Output) -> dict[str, str]:
        said = {}
        found = self.delays.get(output.stream, 0) * MILLISECOND or None
        if output.availability != found:
            said[f"{PREFIX}availability"] = NEVER if output.availability is None else spell(output.availability)
        if output.at_least is not None:
            said[f"{PREFIX}at-least"] = str(output.at_least)
        return said


def _stamp(stamp: Stamp) -> dict[str, str]:
    if stamp.field is None:
        return {"clock": "1"}
    said = {"stime": stamp.field}
    if stamp.unit != 1:
        said["unit"] = spell(stamp.unit)
    if stamp.delay:
        said["delay"] = spell(stamp.delay)
    if stamp.idle_after is not None:
        said["idle-after"] = spell(stamp.idle_after)
    return said
