"""What a box does with a row for which a function of the user's raises an error."""

from __future__ import annotations

import re
from enum import StrEnum

from auroral.model.schema import Field, Schema
from auroral.model.types import STRING

ERROR_FIELD = "error"
"""What a box's error stream has besides the fields of the row."""

LONGEST = 200
"""Characters of an error that go with a rejected row."""

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


class OnError(StrEnum):
    STOP = "stop"
    """The run stops and names the box, the function and the values."""
    REJECT = "reject"
    """The row is counted in the ledger and goes to the box's error stream, and to no other."""


def said(error: BaseException) -> str:
    """Type and message of an error, the same wherever it is raised: without addresses, and in characters that can be stored."""
    try:
        message = str(error)
    except Exception:  # noqa: BLE001  an error of the user's own class may not even be able to say what it is
        message = ""
    kind = type(error).__name__
    text = _ADDRESS.sub("", f"{kind}: {message}" if message else kind)
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "?")


def error_text(function: str, error: BaseException) -> str:
    """What a rejected row's error stream says of the call that failed."""
    return f"{function}: {said(error)}"[:LONGEST]


def with_error(schema: Schema) -> Schema:
    return Schema((*schema.fields, Field(ERROR_FIELD, STRING)))
