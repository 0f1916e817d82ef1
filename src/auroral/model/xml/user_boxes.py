"""Boxes of installed packages in files: their parameters are read by what the box's class says of them."""

from __future__ import annotations

from typing import Any

from auroral.model.boxes.base import BoxSpec
from auroral.model.boxes.user import BoxType
from auroral.model.boxes.user_class import BoxParameter, Form
from auroral.model.xml.parameters import LARGEST, Parameters, Shape


def shape_of(found: BoxType) -> Shape:
    return Shape(
        tuple(one.name for one in found.parameters if one.required),
        tuple(one.name for one in found.parameters if not one.required),
        packaged=True,
    )


def user_box(found: BoxType, parameters: Parameters) -> BoxSpec | None:
    """The box; None where something is wrong with it, which is noted."""
    values = {one.field: _value(one, parameters) for one in found.parameters if one.name in parameters.given}
    if parameters.failed:
        return None
    try:
        return found.with_parameters(values)
    except Exception as error:  # noqa: BLE001  code of a user's, which may raise anything
        said = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        allowed = f"what this box takes: auroral boxes {found.name}"
        parameters.fail(f"{found.name}: {said}", allowed, "mend its parameters")
        return None


def _value(one: BoxParameter, parameters: Parameters) -> Any:
    fold = parameters.notes.folded
    match one.form:
        case Form.WHOLE:
            return parameters.whole(one.name, -LARGEST)
        case Form.NUMBER:
            number = parameters.number(one.name, -1e300, 1e300)
            return None if number is None else float(number)
        case Form.FLAG:
            return parameters.flag(one.name)
        case Form.LENGTH:
            return parameters.length(one.name)
        case Form.FIELD:
            return fold(parameters.text(one.name) or "")
        case Form.FIELDS:
            return tuple(fold(name) for name in parameters.names(one.name))
        case Form.TEXT:
            return str(parameters.text(one.name))
