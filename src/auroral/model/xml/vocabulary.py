"""The elements and attributes of diagram and deployment files (X1), and what of a tree is not among them.

What genuine files have beyond the DTD is here too: `radius`, `connection_point_view` on `in`, `client`,
`node` on a query, `endpoint` on inputs and outputs, `publish` and `subscribe` inside `borealis`. `spark` on a
deployment's node is ours, and so is all that begins with `auroral:`.
"""

from __future__ import annotations

from dataclasses import dataclass

from auroral.model.errors import nearest
from auroral.model.xml.notes import Notes
from auroral.model.xml.read import Element

_QUEUE = ("update_queue", "queue_type", "key")


@dataclass(frozen=True, slots=True)
class Tag:
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    children: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()
    ours: tuple[str, ...] = ()
    """Attributes that Borealis does not know."""


DIAGRAM = {
    "borealis": Tag(
        (),
        _QUEUE,
        (
            *(
                "schema",
                "type",
                "input",
                "output",
                "query",
                "box",
                "table",
                "connection_point_view",
                "modify",
                "delete",
            ),
            *("publish", "subscribe"),
        ),
        ours=tuple(f"auroral:{name}" for name in ("name", "participant", "bucket", "case")),
    ),
    "input": Tag(
        ("stream", "schema"),
        ("node", "endpoint"),
        ours=tuple(f"auroral:{name}" for name in ("stime", "unit", "delay", "idle-after", "clock", "late", "any-case")),
    ),
    "output": Tag(
        ("stream",), ("schema", "endpoint"), ("auroral:of",), ours=("auroral:availability", "auroral:at-least")
    ),
    "auroral:of": Tag(("stream",)),
    "schema": Tag(("name",), (), ("field",)),
    "field": Tag(("name", "type"), ("size",), ours=("auroral:size",)),
    "type": Tag(("name", "array"), ("size",)),
    "query": Tag(
        ("name",), (*_QUEUE, "node"), ("box", "table", "schema", "type", "input", "output", "connection_point_view")
    ),
    "box": Tag(("name", "type"), ("node", *_QUEUE), ("in", "out", "parameter", "access")),
    "in": Tag(("stream",), ("connection_point_view", "port", *_QUEUE)),
    "out": Tag(("stream",)),
    "parameter": Tag(("name", "value"), ours=("auroral:sql",)),
    "access": Tag(("table",)),
    "table": Tag(("name", "schema"), ("stream", "node"), ("key", "index", "parameter")),
    "key": Tag(("field",)),
    "index": Tag((), ("field",)),
    "connection_point_view": Tag(("name", "stream"), (), ("order", "size", "range", "radius", "parameter")),
    "order": Tag((), ("field",)),
    "size": Tag(("value",)),
    "range": Tag(("start", "end")),
    "radius": Tag(("value",)),
    "modify": Tag((), ("box", "table"), ("parameter", "in"), one_of=("box", "table")),
    "delete": Tag(("query",)),
    "publish": Tag(("stream",), ("node", "endpoint")),
    "subscribe": Tag(("stream",), ("endpoint", "gap")),
}

DEPLOYMENT = {
    "deploy": Tag((), (), ("replica_set", "node", "region", "client", "publish", "subscribe", "unsubscribe", "move")),
    "replica_set": Tag(("name",), ("query",), ("node",)),
    "node": Tag(("endpoint",), ("query", "spark")),
    "region": Tag((), ("node", "endpoint")),
    "client": Tag((), ("prefix", "endpoint"), ("publish", "subscribe")),
    "publish": Tag(("stream",), ("node",)),
    "subscribe": Tag(("stream",), ("endpoint", "gap")),
    "unsubscribe": Tag(("stream",)),
    "move": Tag(("node",), ("box", "table"), one_of=("box", "table")),
}

_UPDATES = ("modify", "connect", "disconnect", "delete", "move", "query", "box", "table", "schema", "type")
UPDATE = DIAGRAM | {
    "borealis": Tag((), _QUEUE, _UPDATES),
    "connect": Tag(("box", "stream"), ("port",)),
    "disconnect": Tag(("box",)),
    "move": Tag(("node",), ("box", "query", "from"), one_of=("box", "query")),
}


def check_words(root: Element, words: dict[str, Tag], notes: Notes) -> None:
    """Note missing attributes as errors; unknown attributes and elements, which are ignored, as warnings."""
    pending = [root]
    while pending:
        element = pending.pop()
        tag = words[element.tag]
        _check_attributes(element, tag, notes)
        for child in element.children:
            if child.tag in tag.children:
                pending.append(child)
            elif child.tag in words:
                notes.warn(
                    child,
                    f"<{child.tag}> is ignored: it has no place inside <{element.tag}>",
                    _words(tag.children, "elements"),
                    f"move it into {' or '.join(sorted(t for t in words if child.tag in words[t].children))}",
                )
            else:
                _unknown(child, "element", child.tag, tag.children, f"inside <{element.tag}>", notes)


def _of_others(name: str) -> bool:
    """Whether some other program's name space has it."""
    return ":" in name and not name.startswith("auroral:")


def _check_attributes(element: Element, tag: Tag, notes: Notes) -> None:
    missing = [name for name in tag.required if name not in element.attributes]
    for name in element.attributes:
        if name in (*tag.required, *tag.optional, *tag.ours) or name.startswith("xml") or _of_others(name):
            continue
        if notes.full and not missing:
            return
        if name.startswith("auroral:"):
            _unknown(element, "attribute", name, tag.ours, f"of <{element.tag}>", notes)
            continue
        meant = nearest(name, (*tag.required, *tag.optional))
        if meant in missing:
            # The warning would only repeat what the error below says.
            missing.remove(meant)
            what = f"<{element.tag}> needs the attribute {meant!r} and has {name[:60]!r}"
            notes.error(element, what, _words(tag.required, "attributes"), f"did you mean {meant!r}?")
        else:
            _unknown(element, "attribute", name, (*tag.required, *tag.optional), f"of <{element.tag}>", notes)
    for name in missing:
        notes.error(
            element,
            f"<{element.tag}> needs the attribute {name!r}",
            allowed=_words(tag.required, "attributes"),
            next_step=f'add {name}="..."',
        )
    given = [name for name in tag.one_of if name in element.attributes]
    if tag.one_of and len(given) != 1:
        notes.error(
            element,
            f"<{element.tag}> has {len(given)} of the attributes {' and '.join(tag.one_of)}",
            "exactly one of them",
            next_step=f"leave {tag.one_of[0]!r} or {tag.one_of[1]!r}",
        )


def _unknown(element: Element, kind: str, name: str, known: tuple[str, ...], where: str, notes: Notes) -> None:
    if notes.full:
        return
    suggestion = nearest(name[:60], known)
    notes.warn(
        element,
        f"unknown {kind} {name[:60]!r} {where} is ignored",
        _words(known, f"{kind}s"),
        f"did you mean {suggestion!r}?" if suggestion else None,
    )


def _words(names: tuple[str, ...], kind: str) -> str:
    return ", ".join(names) if names else f"no {kind}"
