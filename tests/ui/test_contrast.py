"""Colours of the page against what they are drawn on, in light and dark (WCAG 2.2, AA: 1.4.3 for text, 1.4.11 for marks and lines)."""

from __future__ import annotations

import re

import pytest

from auroral.ui.conditions import Condition
from auroral.ui.server import STATIC

_STYLE = (STATIC / "style.css").read_text()
_LIGHT, _DARK = (
    dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block)) for block in re.findall(r":root {(.*?)}", _STYLE, re.S)
)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (one / 12.92 if one <= 0.03928 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("colours", [_LIGHT, {**_LIGHT, **_DARK}], ids=["light", "dark"])
def test_everything_can_be_told_from_what_is_behind_it(colours: dict[str, str]) -> None:
    washes = [f"{condition}-wash" for condition in Condition]
    wanted = {("ink", behind): 4.5 for behind in ("page", "card", "raised", *washes)}
    wanted |= {("soft", behind): 4.5 for behind in ("page", "card", "raised")} | {("failed", "card"): 4.5}
    wanted |= {("focus", behind): 3.0 for behind in ("page", "card")}
    for condition in Condition:
        wanted |= {(str(condition), behind): 3.0 for behind in ("page", "card", f"{condition}-wash")}
    wanted |= {("on", face): 3.0 for face in ("stable", "stabilising")}
    found = {pair: _contrast(colours[pair[0]], colours[pair[1]]) for pair in wanted}
    assert {pair: round(found[pair], 2) for pair, least in wanted.items() if found[pair] < least} == {}
