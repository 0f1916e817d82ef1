"""Diagrams as pictures: mermaid text for documents, SVG for notebooks and the dashboard."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape

from auroral.model.diagram import Box, Diagram
from auroral.model.layout import HEIGHT, WIDTH, Drawn, Node, layout
from auroral.model.summary import summary

_CHARACTER = 7.0
"""Width of a character of the monospaced 12 px font that labels are cut to."""
_PAD = 8

# Colours come from the page where it has any, so that the picture suits light and dark ones.
_STYLE = (
    ".aur{--ink:#1f2933;--edge:#7b8794;--box:#eef2f7;--in:#e3f4ea;--out:#fdf0dc;--group:#cbd2d9}"
    "@media (prefers-color-scheme:dark){"
    ".aur{--ink:#e4e7eb;--edge:#9aa5b1;--box:#323f4b;--in:#23473a;--out:#54401c;--group:#52606d}}"
    ".aur text{fill:var(--ink);font:12px ui-monospace,Menlo,Consolas,monospace}"
    ".aur .kind{font-size:10px;opacity:.75}"
    ".aur rect{stroke:var(--edge);fill:var(--box)}"
    ".aur .input rect{fill:var(--in)}.aur .output rect{fill:var(--out)}"
    ".aur path{stroke:var(--edge);fill:none;stroke-width:1.3}.aur marker path{fill:var(--edge)}"
)


def mermaid(diagram: Diagram) -> str:
    """The diagram as a mermaid flowchart: inputs, boxes in their queries, outputs."""
    lines = ["flowchart LR"]
    numbers = {id(box): f"b{n}" for n, box in enumerate(diagram.boxes)}
    made = {given.stream: f"i{n}" for n, given in enumerate(diagram.inputs)}
    lines += [f'    {made[given.stream]}(["{_quoted(given.stream)}"])' for given in diagram.inputs]
    for n, query in enumerate(diagram.queries):
        lines.append(f'    subgraph q{n}["{_quoted(query.name)}"]')
        for box in query.boxes:
            text = "<br/>".join(_quoted(line) for line in _lines(box))
            lines.append(f'        {numbers[id(box)]}["{text}"]')
            made.update((stream, numbers[id(box)]) for stream in box.outputs if stream not in made)
        lines.append("    end")
    lines += [f'    o{n}[/"{_quoted(out.stream)}"/]' for n, out in enumerate(diagram.outputs)]
    labelled = {stream for box in diagram.boxes if len(box.outputs) > 1 for stream in box.outputs}
    for box in diagram.boxes:
        for stream in box.inputs:
            # A stream that nothing makes is drawn as it was written: the checker says what is wrong.
            source = made.setdefault(stream, f"u{len(made)}")
            if source.startswith("u"):
                lines.append(f'    {source}["{_quoted(stream)}?"]')
            port = f'|"{_quoted(stream)}"|' if stream in labelled else ""
            lines.append(f"    {source} -->{port} {numbers[id(box)]}")
    for n, out in enumerate(diagram.outputs):
        if out.stream in made:
            lines.append(f"    {made[out.stream]} --> o{n}")
    return "\n".join(lines) + "\n"


def svg(diagram: Diagram) -> str:
    """The diagram as an SVG of its own: no script, no font and nothing else from elsewhere."""
    nodes = [Node(f"in {given.stream}", (given.stream, "input"), "input") for given in diagram.inputs]
    made = {given.stream: node.key for given, node in zip(diagram.inputs, nodes, strict=True)}
    for n, box in enumerate(diagram.boxes):
        nodes.append(Node(f"box {n}", _lines(box), "box"))
        for stream in box.outputs:
            made.setdefault(stream, f"box {n}")
    edges = [
        (made[stream], f"box {n}") for n, box in enumerate(diagram.boxes) for stream in box.inputs if stream in made
    ]
    for n, out in enumerate(diagram.outputs):
        nodes.append(Node(f"out {n}", (out.stream, "output"), "output"))
        if out.stream in made:
            edges.append((made[out.stream], f"out {n}"))
    picture = layout(nodes, edges)
    # Two pictures on one page share its ids, and both define the same arrow: that does no harm.
    parts = [
        f'<svg class="aur" xmlns="http://www.w3.org/2000/svg" role="img" width="{picture.width}"'
        f' height="{picture.height}" viewBox="0 0 {picture.width} {picture.height}">',
        f"<title>{_text(str(diagram.qualified(diagram.name)))}</title><style>{_STYLE}</style>",
        '<defs><marker id="aur-arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7"'
        ' orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>',
    ]
    for points in picture.lines:
        parts.append(f'<path d="{curve(points)}" marker-end="url(#aur-arrow)"/>')
    parts += [_node(drawn) for drawn in picture.nodes]
    return "".join(parts) + "</svg>"


def _node(drawn: Drawn) -> str:
    x, y, node = drawn.x, drawn.y, drawn.node
    rounded = 16 if node.kind != "box" else 4
    rows = []
    for n, line in enumerate(node.lines):
        kind = ' class="kind"' if n else ""
        top = y + HEIGHT / 2 + (n - (len(node.lines) - 1) / 2) * 15 + 4
        rows.append(f'<text{kind} x="{x + _PAD}" y="{top:g}">{_text(_cut(line))}</text>')
    whole = _text(" · ".join(node.lines))
    return (
        f'<g class="{node.kind}"><title>{whole}</title>'
        f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="{rounded}"/>{"".join(rows)}</g>'
    )


def curve(points: list[tuple[int, int]]) -> str:
    """Through all points, level at each of them."""
    (x, y), *rest = points
    parts = [f"M{x} {y}"]
    for to_x, to_y in rest:
        middle = (x + to_x) // 2
        parts.append(f"C{middle} {y} {middle} {to_y} {to_x} {to_y}")
        x, y = to_x, to_y
    return "".join(parts)


def _lines(box: Box) -> tuple[str, ...]:
    said = summary(box.spec)
    return (box.name, getattr(box.spec, "type_name", box.spec.type), *([said] if said else []))


def _quoted(text: str) -> str:
    """Text for a quoted mermaid label: everything that could mean something there as a character code."""
    clean = _cut(_visible(text), 60)
    return re.sub(r"[^\w .,+/()=:-]", lambda match: f"#{ord(match[0])};", clean)


def _text(text: str) -> str:
    return escape(_visible(text), {'"': "&quot;"})


def _visible(text: str) -> str:
    """Control characters and halves of surrogate pairs have no place in XML."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _cut(text: str, most: int = int((WIDTH - 2 * _PAD) / _CHARACTER)) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
