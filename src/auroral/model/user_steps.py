"""Users' boxes as steps of a diagram in Python: which class, and what it is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from auroral.model import arguments as given
from auroral.model.boxes.user import BoxType, UserBox, own_type, packaged_box
from auroral.model.boxes.user_class import Box, BoxParameter, Form
from auroral.model.errors import DiagramError, Place, unknown_name
from auroral.model.packages import Kind, offers


def user_box(kind: object, parameters: Mapping[str, Any], place: Place) -> UserBox:
    if isinstance(kind, Box):
        return _own(kind, parameters, place)
    named = given.text("the box's type", kind, place, "the name of a box type of a package, or a box").lower()
    found = packaged_box(named)
    if found is None:
        raise DiagramError([unknown_name("box type of a package", named, list(offers(Kind.BOX)), place)])
    _names_are_known(found, parameters, place)
    values = {
        one.field: _value(one, parameters[one.field], place) for one in found.parameters if one.field in parameters
    }
    try:
        return found.with_parameters(values)
    except Exception as error:  # noqa: BLE001  code of a user's, which may raise anything
        said = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        given.refuse(f"{named}: {said}", place, f"what this box takes: auroral boxes {named}", "mend its parameters")


def _own(box: Box, parameters: Mapping[str, Any], place: Place) -> UserBox:
    if parameters:
        given.refuse(
            f"{', '.join(parameters)} beside a box that has its parameters",
            place,
            allowed="parameters with the name of a box type",
            next_step="give them to the box itself",
        )
    try:
        return own_type(type(box)).with_box(box)
    except (TypeError, NameError) as error:
        given.refuse(str(error), place, "a frozen dataclass that is a subclass of auroral.extend.Box", "mend the class")


def _names_are_known(found: BoxType, parameters: Mapping[str, Any], place: Place) -> None:
    names = [one.field for one in found.parameters]
    wrong = [unknown_name(f"parameter of {found.name}", name, names, place) for name in parameters if name not in names]
    if wrong:
        raise DiagramError(wrong)
    missing = [one.field for one in found.parameters if one.required and one.field not in parameters]
    if missing:
        given.refuse(
            f"{found.name} needs {', '.join(missing)}",
            place,
            allowed=", ".join(names),
            next_step=f"add {missing[0]}=...",
        )


def _value(one: BoxParameter, value: object, place: Place) -> Any:
    """The value as the class has it. Raises a DiagramError for one of another kind."""
    match one.form:
        case Form.LENGTH:
            return given.duration(one.field, value, place)
        case Form.FIELDS:
            return given.fields(one.field, value, place)
        case Form.FLAG if isinstance(value, bool):
            return value
        case Form.WHOLE if isinstance(value, int) and not isinstance(value, bool):
            return value
        case Form.NUMBER if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        case Form.FIELD | Form.TEXT if isinstance(value, str):
            return value
    return _refuse(one, value, place)


def _refuse(one: BoxParameter, value: object, place: Place) -> NoReturn:
    given.refuse(f"{one.field} is {value!r}", place, str(one.form), f"write {one.field}=...")
