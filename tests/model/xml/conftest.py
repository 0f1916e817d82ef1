"""X8: whatever file a test of this folder can read is written again as well, and read to the same."""

import pytest

from auroral.model.deployment import Deployment
from auroral.model.diagram import Diagram
from auroral.model.errors import Problem
from auroral.model.xml import deployment as reading_deployments
from auroral.model.xml import diagram as reading
from auroral.model.xml import same_diagram, write_deployment, write_diagram
from auroral.model.xml.notes import Notes
from auroral.model.xml.read import Element
from auroral.model.yaml import read_deployment as read_yaml
from auroral.model.yaml import write_deployment as write_yaml


@pytest.fixture(autouse=True)
def written_and_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made, again = reading.Loaded, False

    def loaded(diagram: Diagram, warnings: tuple[Problem, ...] = ()) -> reading.Loaded:
        nonlocal again
        if not again:
            again = True
            try:
                read = reading.read_diagram(write_diagram(diagram)).diagram
            finally:
                again = False
            assert same_diagram(read, diagram)
            assert read.name == diagram.name and list(read.boxes) == list(diagram.boxes)
        return made(diagram, warnings)

    monkeypatch.setattr(reading, "Loaded", loaded)


@pytest.fixture(autouse=True)
def deployments_too(monkeypatch: pytest.MonkeyPatch) -> None:
    read, again = reading_deployments.deployment_in, False

    def deployment_in(root: Element, notes: Notes) -> Deployment:
        nonlocal again
        found = read(root, notes)
        if not again:
            again = True
            try:
                assert reading_deployments.read_deployment(write_deployment(found)) == found
                assert read_yaml(write_yaml(found)) == found
            finally:
                again = False
        return found

    monkeypatch.setattr(reading_deployments, "deployment_in", deployment_in)
