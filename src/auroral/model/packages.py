"""What installed packages offer: functions, aggregates and box types, by entry points.

    [project.entry-points."auroral.boxes"]
    top_n = "my_boxes:TopN"

Names are known from the packages' metadata alone. A package is imported when something of it is used, and not before; one that cannot be
imported is then an error that names it. Like `import`, this looks at what is installed, and at nothing else.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any

from auroral.model.errors import DiagramError, Problem


class Kind(StrEnum):
    FUNCTION = "function"
    AGGREGATE = "aggregate"
    BOX = "box"

    @property
    def group(self) -> str:
        return {"function": "auroral.functions", "aggregate": "auroral.aggregates", "box": "auroral.boxes"}[self]

    @property
    def words(self) -> str:
        return {"function": "function", "aggregate": "aggregate function", "box": "box type"}[self]


@dataclass(frozen=True, slots=True)
class Offer:
    """One entry point: `package` is the name and version of what was installed, `where` is module and object."""

    kind: Kind
    name: str
    package: str
    where: str

    def __str__(self) -> str:
        return f"{self.kind.words} {self.name!r} of {self.package}"


class PackageError(DiagramError):
    """A package that is installed, and whose boxes or functions cannot be used as it offers them."""


_NAME = {Kind.BOX: re.compile(r"[^\W\d][\w-]*\Z")}
_IDENTIFIER = re.compile(r"[^\W\d]\w*\Z")


def offers(kind: Kind) -> Mapping[str, tuple[Offer, ...]]:
    """By lower-case name. Several of one name cannot be used."""
    return _offers(kind, tuple(sys.path))


@lru_cache(maxsize=8)
def _offers(kind: Kind, _path: tuple[str, ...]) -> Mapping[str, tuple[Offer, ...]]:
    found: dict[str, tuple[Offer, ...]] = {}
    for entry in entry_points(group=kind.group):
        offer = Offer(kind, entry.name, _package(entry), entry.value)
        name = entry.name.lower()
        if offer not in found.get(name, ()):  # one package may be found by two ways
            found[name] = (*found.get(name, ()), offer)
    return MappingProxyType(dict(sorted(found.items())))


def _package(entry: EntryPoint) -> str:
    if entry.dist is None:
        return "a package without a name"
    return f"{entry.dist.name} {entry.dist.version}"


def offered(kind: Kind, name: str, taken: str | None = None) -> Offer | None:
    """The offer of that name; None where there is none. `taken` says who has the name already: then no package may have it too."""
    found = offers(kind).get(name, ())
    if not found:
        return None
    pattern = _NAME.get(kind, _IDENTIFIER)
    others = [*([taken] if taken else []), *(offer.package for offer in found)]
    if len(others) > 1:
        raise PackageError(
            [
                Problem(
                    f"the {kind.words} {name!r} is there more than once: {' and '.join(others)}",
                    allowed="one of each name",
                    next_step=f"uninstall {found[-1].package}, or ask whoever wrote it for another name",
                )
            ]
        )
    if not pattern.match(found[0].name):
        raise _unusable(found[0], "has a name that cannot be written", "letters, digits and _", "give it another name")
    return found[0]


def loaded(offer: Offer, wanted: type | tuple[type, ...], allowed: str) -> Any:
    """The object itself, an instance of `wanted`. Imports its module, which may fail in any way."""
    try:
        found = EntryPoint(offer.name, offer.where, offer.kind.group).load()
    except (Exception, SystemExit) as error:
        said = f"{type(error).__name__}: {error}".rstrip(": ")
        raise _unusable(
            offer,
            f"cannot be loaded from {offer.where}: {said}",
            "packages that can be imported here",
            f"mend or reinstall {offer.package.split()[0]}, with what it needs",
        ) from error
    if not isinstance(found, wanted):
        raise _unusable(offer, f"is {_shown(found)}, at {offer.where}", allowed, "mend the package's entry point")
    return found


def _unusable(offer: Offer, what: str, allowed: str, next_step: str) -> PackageError:
    return PackageError([Problem(f"{offer} {what}", allowed=allowed, next_step=next_step)])


def _shown(found: object) -> str:
    return f"the class {found.__qualname__}" if isinstance(found, type) else f"a {type(found).__name__}"


def names_offered(kind: Kind, known: Iterable[str] = ()) -> list[str]:
    """Known names and offered ones, for messages."""
    return sorted({*known, *offers(kind)})
