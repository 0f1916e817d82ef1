"""The text of a deployment, which may be XML or YAML."""

from __future__ import annotations

from auroral.model.deployment import Deployment
from auroral.model.xml import read_deployment as read_xml_deployment
from auroral.model.yaml import read_deployment as read_yaml_deployment


def is_xml(text: str) -> bool:
    """XML begins with a tag, and a YAML mapping of ours never does."""
    return text.lstrip("\ufeff \t\r\n").startswith("<")


def read_deployment_text(text: str, file: str | None = None) -> Deployment:
    return read_xml_deployment(text, file) if is_xml(text) else read_yaml_deployment(text, file)
