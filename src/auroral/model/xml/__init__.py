"""Borealis XML: diagrams and deployments as text, read into the values of `auroral.model`, and written from them.

The reader is tolerant where genuine files are (no DTD validation) and exact in what it says of them: each
error has file, line, element and a next step. The text is untrusted: nothing outside it is ever fetched.
No file is opened here.
"""

from auroral.model.xml.deployment import read_deployment
from auroral.model.xml.diagram import Loaded, read_diagram
from auroral.model.xml.same import same_diagram
from auroral.model.xml.write import write_diagram
from auroral.model.xml.write_deployment import write_deployment

__all__ = ["Loaded", "read_deployment", "read_diagram", "same_diagram", "write_deployment", "write_diagram"]
