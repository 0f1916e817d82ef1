"""Texts of a file that know their place: a box of many parameters has many lines, and an error is in one of them."""

from __future__ import annotations

from auroral.model.errors import Place


class Written(str):
    """An expression or a name as a file has it; equal to the text alone."""

    place: Place

    def __new__(cls, text: str, place: Place) -> Written:
        self = super().__new__(cls, text)
        self.place = place
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return (Written, (str(self), self.place))


def place_of(text: object, otherwise: Place) -> Place:
    return text.place if isinstance(text, Written) else otherwise
