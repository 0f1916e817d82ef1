"""What the pages of docs/ need to become a site with mkdocs, which reads Markdown a little differently from where they are read otherwise."""

from __future__ import annotations

import re
from typing import Any

FENCE = re.compile(r"^(?P<indent> *```)(?P<language>\w+) [^\n`]+$", re.MULTILINE)
OUTSIDE = re.compile(
    r"\[(?P<text>[^\]]+)\]\((?:\.\./)+(?P<path>(?:bench|examples|README|CONTRIBUTING|LICENSE)[^)#]*)(?:#[^)]*)?\)"
)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Words behind a block's language are for the tests. Files of the repository that are no pages are named, not linked to."""
    markdown = FENCE.sub(r"\g<indent>\g<language>", markdown)
    return OUTSIDE.sub(r"\g<text> (`\g<path>` in the repository)", markdown)
