"""A layout as it is written down."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from auroral.dpc.layout import Layout, Phase, Wanted
from auroral.dpc.versions import Decision


def layout_to_json(layout: Layout) -> dict[str, Any]:
    return {
        "members": dict(layout.members),
        "number": layout.number,
        "moving": layout.moving,
        "after": layout.after,
        "phase": layout.phase,
        "back": layout.back,
        "changing": layout.changing,
        "versions": {query: (decision.starts, decision.attempt) for query, decision in layout.versions.items()},
        "wanted": [(wanted.query, wanted.leaves, wanted.comes, wanted.inputs) for wanted in layout.wanted],
        "added": dict(layout.added),
    }


def layout_from_json(stored: dict[str, Any]) -> Layout:
    return Layout(
        {query: tuple(members) for query, members in stored["members"].items()},
        stored["number"],
        stored["moving"],
        tuple(stored["after"]),
        Phase(stored["phase"]),
        stored["back"],
        stored["changing"],
        {query: Decision(tuple(starts), attempt) for query, (starts, attempt) in stored["versions"].items()},
        tuple(_wanted(*wanted) for wanted in stored["wanted"]),
        # Older ones have neither this nor the inputs of what is wanted.
        {query: tuple(streams) for query, streams in stored.get("added", {}).items()},
    )


def _wanted(query: str, leaves: str, comes: str, inputs: Iterable[str] = ()) -> Wanted:
    return Wanted(query, leaves, comes, tuple(inputs))
