"""Deployments written as YAML, of the same content as Borealis' XML (`auroral.model.xml`) and with the same checks.

The text is untrusted: nothing in it makes an object, and no part of it stands for another one. No file is opened here.
"""

from auroral.model.yaml.deployment import read_deployment
from auroral.model.yaml.write import write_deployment

__all__ = ["read_deployment", "write_deployment"]
