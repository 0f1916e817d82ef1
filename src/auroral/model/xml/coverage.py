"""What of Borealis' files has an effect here, what loads and has none, and what is refused, each with its reason: tables for the documentation.

They follow from the code: box types from those that run, parameters from what the box types say of theirs, elements and attributes from the
words that readers know. What is in force only with a box type that does not run yet follows that type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from auroral.model.boxes.later import LATER
from auroral.model.xml.boxes import ARRAY_BOXES, SHAPES
from auroral.model.xml.read import LOAD_GENERATOR
from auroral.model.xml.vocabulary import DEPLOYMENT, DIAGRAM, UPDATE, Tag

T = TypeVar("T")

RUNS, LOADS, REFUSED = "runs", "loads", "refused"

WITH_BOX = {
    **dict.fromkeys(("table", "access", "key", "index"), "insert"),
}
"""Elements and attributes that are in force once boxes of this type run."""

_NO_ENDPOINT = "ignored with a warning: publish and subscribe of the deployment say where streams come from and go"
_IN_DEPLOYMENTS = "ignored with a warning: it belongs into a deployment file"
IDLE: Mapping[str, str] = {
    "input node": "an input comes to the nodes whose boxes read it",
    "input endpoint": _NO_ENDPOINT,
    "output endpoint": _NO_ENDPOINT,
    "publish": _IN_DEPLOYMENTS,
    "subscribe": _IN_DEPLOYMENTS,
    "delete": "warned of in a diagram, as nothing is there yet to delete; update files do it",
    "in connection_point_view": "the box reads the stream itself: when a diagram begins, nothing was kept before",
    "table stream": "a stream does not fill a table by itself: insert boxes do",
    "table node": "a table is where the boxes are that use it",
}
"""Of diagram files: what loads and means nothing here."""
_NEW_RUN = "a new run begins with the contents, and one that goes on has the table as it was"
_BERKELEY = "it is about Berkeley DB, in which Borealis kept tables"
OF_TABLES: Mapping[str, str] = {
    "key": "",
    "contents": "",
    "changes": "",
    **dict.fromkeys(("create", "truncate"), _NEW_RUN),
    **dict.fromkeys(("type", "table-directory", "table-cache-size"), _BERKELEY),
}
"""Parameters of tables, and of those that load and mean nothing here why."""
REFUSALS: Mapping[str, str] = {"type": "arrays are not supported"}
IDLE_IN_DEPLOYMENTS: Mapping[str, str] = {
    "region": "monitors come in a later release",
    "client prefix": "names of streams are not shortened",
    "client endpoint": "a client calls the nodes, and need not be called",
    "publish node": "must be one of the nodes whose boxes read the stream; all of them get it",
    "subscribe endpoint": "a client calls the nodes, and need not be called",
    "subscribe gap": "no tuple is lost: what was late is corrected",
    "unsubscribe": "a client that wants no more rows ends its subscription by itself",
}
REFUSALS_IN_DEPLOYMENTS: Mapping[str, str] = {
    "move": "a deployment begins without moves: auroral move and update files move what runs"
}


def box_types() -> str:
    """Markdown: every box type of Borealis, and what becomes of it."""
    rows = []
    for name in sorted(SHAPES):
        if name in LATER:
            rows.append(f"| {name} | {LOADS} | {LATER[name].why}; instead: {LATER[name].instead} |")
            continue
        rows.append(f"| {name} | {RUNS} |  |")
    arrays = ", ".join(f"`{name}`" for name in ARRAY_BOXES)
    rows.append(f"| {arrays}, and others of arrays | {REFUSED} | array and video boxes are not supported |")
    return _table("box type", rows)


def parameters() -> str:
    """Markdown: the parameters of each box type that runs."""
    rows = []
    for name in sorted(SHAPES):
        shape = SHAPES[name]
        if name in LATER:
            continue
        if not shape.known:
            rows.append(f"| {name} | | all: it needs none |")
            continue
        given = [one for one in (*shape.required, *shape.optional) if one not in shape.idle]
        idle = [f"{_code(names)}: {why}" for why, names in _by_reason(shape.idle).items()]
        rows.append(f"| {name} | {_code((*given, *shape.ours))} | {'; '.join(idle)} |")
    return "\n".join(["| box type | in force | loads, and has no effect |", "|---|---|---|", *rows]) + "\n"


def elements() -> str:
    """Markdown: elements and attributes of diagram and update files."""
    rows = list(_rows(DIAGRAM, IDLE, REFUSALS))
    rows += _rows({name: tag for name, tag in UPDATE.items() if name not in DIAGRAM}, {}, {})
    root = ", ".join(f"`<{name}>`" for name in LOAD_GENERATOR)
    rows.append(f"| {root} | {REFUSED} | files of a load generator: give rows from files instead |")
    return _table("element or attribute", rows)


def deployment_elements() -> str:
    return _table("element or attribute", list(_rows(DEPLOYMENT, IDLE_IN_DEPLOYMENTS, REFUSALS_IN_DEPLOYMENTS)))


def table_parameters() -> str:
    """Markdown: the parameters of tables."""
    return _table(
        "parameter of a table", [f"| `{name}` | {LOADS if why else RUNS} | {why} |" for name, why in OF_TABLES.items()]
    )


def _rows(words: Mapping[str, Tag], idle: Mapping[str, str], refused: Mapping[str, str]) -> Iterator[str]:
    """For each element what becomes of it, with the attributes and children of which something else holds."""
    for element, tag in words.items():
        state, why = _state(element, idle, refused)
        parts = (*tag.required, *tag.optional)
        apart = {part: found for part in parts if (found := _part(element, part, idle)) is not None and state == RUNS}
        same = [part for part in (*tag.required, *tag.optional) if part not in apart]
        shown = f" with {_code((*same, *tag.ours))}" if same or tag.ours else ""
        yield f"| `<{element}>`{shown} | {state} | {why} |"
        for (part_state, part_why), names in _by_reason(apart).items():
            yield f"| {_code(names)} of `<{element}>` | {part_state} | {part_why} |"


def _state(name: str, idle: Mapping[str, str], refused: Mapping[str, str]) -> tuple[str, str]:
    if name in refused:
        return REFUSED, refused[name]
    if name in idle:
        return LOADS, idle[name]
    box = WITH_BOX.get(name)
    return (LOADS, LATER[box].why) if box in LATER else (RUNS, "")


def _part(element: str, part: str, idle: Mapping[str, str]) -> tuple[str, str] | None:
    name = f"{element} {part}"
    found = _state(name, idle, {}) if name in idle or name in WITH_BOX else (RUNS, "")
    return None if found[0] == RUNS else found


def _by_reason(reasons: Mapping[str, T]) -> dict[T, tuple[str, ...]]:
    """Names that have a reason in common, together."""
    found: dict[T, tuple[str, ...]] = {}
    for name, why in reasons.items():
        found[why] = (*found.get(why, ()), name)
    return found


def _table(head: str, rows: list[str]) -> str:
    return "\n".join([f"| {head} | | why |", "|---|---|---|", *rows]) + "\n"


def _code(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
