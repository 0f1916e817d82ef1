"""Small files of JSON that tell whether they are as they were written: `check` is the hash of all the rest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def dump(stored: Mapping[str, Any], format: int) -> bytes:
    stored = {"format": format, **stored}
    return json.dumps(stored | {"check": digest(_canonical(stored))}, ensure_ascii=False, indent=1).encode()


def parse(content: bytes, format: int) -> dict[str, Any]:
    """What was stored. Raises ValueError, KeyError, TypeError or AttributeError where it is not that."""
    stored: dict[str, Any] = json.loads(content)
    # First: another version may make its checksum in another way.
    if (found := stored["format"]) != format:
        raise ValueError(f"another version of auroral wrote it: format {found}, not {format}")
    if stored.pop("check") != digest(_canonical(stored)):
        raise ValueError("its checksum does not match")
    del stored["format"]
    return stored


def _canonical(stored: Mapping[str, Any]) -> bytes:
    return json.dumps(stored, ensure_ascii=False, sort_keys=True).encode()
