"""What is installed beside Auroral: a program that only reads outputs needs less than one that runs diagrams."""

from __future__ import annotations

from importlib.util import find_spec

from auroral.model.errors import AuroralError

TO_RUN = ("pyspark", "pandas", "rich", "cloudpickle")
"""The extra `spark`."""


class NotInstalled(AuroralError):
    """Packages are missing that this needs."""


def need_all(what: str) -> None:
    """Refused where `what` could not run for want of a package."""
    missing = [name for name in TO_RUN if find_spec(name) is None]
    if missing:
        raise NotInstalled(
            f"{what} needs {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed\n"
            "    allowed: without them, auroral.client reads the outputs of a deployment\n"
            "    next: pip install 'auroral[spark]'"
        )
