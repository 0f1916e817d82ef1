"""Deployments as YAML, of the same content as their XML."""

from __future__ import annotations

from typing import Any

import yaml

from auroral.model.deployment import Deployment
from auroral.model.errors import DiagramError
from auroral.model.xml.read import Element
from auroral.model.xml.write_deployment import deployment_element, unwritable
from auroral.model.yaml.deployment import ALONE, LISTS, QUERIES, read_deployment


def write_deployment(deployment: Deployment) -> str:
    """YAML that is read again as the same deployment."""
    text: str = yaml.safe_dump(_mapped(deployment_element(deployment)), sort_keys=False, allow_unicode=True, width=100)
    try:
        same = read_deployment(text) == deployment
    except DiagramError as error:
        raise DiagramError(unwritable(problem.what, problem.place.element) for problem in error.problems) from None
    if not same:
        raise DiagramError([unwritable("it would be read as something else", None)])
    return text


def _mapped(element: Element) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in element.attributes.items():
        found[QUERIES if name == "query" else name] = value.split() if name == "query" else value
    for key, tag in LISTS.items():
        if children := list(element.all(tag)):
            found[key] = [_value(child) for child in children]
    return found


def _value(element: Element) -> Any:
    """A node that is only an endpoint, and a stream that is only a name, stand for themselves."""
    if not element.children and list(element.attributes) == [ALONE.get(element.tag)]:
        return next(iter(element.attributes.values()))
    return _mapped(element)
