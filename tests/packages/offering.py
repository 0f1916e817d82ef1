"""Packages as they lie on a path once they are installed, made for one test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

HEAD = """
from dataclasses import dataclass
from auroral.extend import Box, FieldName, FieldNames, Length, aggregate, function
"""


def install(site: Path, package: str, source: str, version: str = "1.0", **offers: Mapping[str, str]) -> None:
    """A package with one module; `offers` are names and objects by group: boxes={"top": "Top"}."""
    module = package.replace("-", "_")
    (site / f"{module}.py").write_text(HEAD + dedent(source))
    info = site / f"{module}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    lines = []
    for group, names in offers.items():
        lines += [f"[auroral.{group}]", *(f"{name} = {module}:{what}" for name, what in names.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
