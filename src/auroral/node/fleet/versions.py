"""Versions of the queries of a deployment that came after it began, in its folder.

`versions/N/` has a whole diagram, `versions.json` which of them each version of a query is from. From which bucket on a version holds, the
layout says; one that the layout does not know was given up, or is still to be decided.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from auroral.dpc.assembly import Assembly
from auroral.dpc.fragments import Fragment, Fragments
from auroral.dpc.splicing import name_of_version, spliced
from auroral.dpc.versions import Reading
from auroral.edge.durable import make_folder, replace_file, storage_error
from auroral.model.checking import Checked, CheckedBox
from auroral.node.fleet.deployed import Deployed, DeploymentError
from auroral.node.runfolder import RunFolder
from auroral.node.storeddiagram import load_diagram, pickled

_WHOLE, _UPDATE = "diagram.xml", "update.xml"


@dataclass(frozen=True, slots=True)
class Text:
    """The XML that a diagram was read from, or what was to be changed in the one before."""

    content: bytes
    update: bool = False


def add_versions(folder: Path, checked: Checked, numbers: Mapping[str, int], text: Text | None = None) -> int:
    """The diagram, of which queries are to be version so and so. Durable when this returns; gives the diagram's number."""
    known = _known(folder)
    number = 1 + max((n for versions in known.values() for n in versions.values()), default=0)
    place = folder / "versions" / str(number)
    for query, version in numbers.items():
        known.setdefault(query, {})[version] = number
    try:
        make_folder(place)
        replace_file(place / "diagram.pickle", pickled(checked))
        if text is not None:
            replace_file(place / (_UPDATE if text.update else _WHOLE), text.content)
        replace_file(folder / "versions.json", json.dumps(known, indent=1).encode())
    except OSError as error:
        raise storage_error(error, "the changed diagram", place) from error
    return number


def texts(deployed: Deployed) -> tuple[bytes, list[bytes]] | None:
    """The XML of the diagram that runs, and the updates that were made to it, the oldest first; None where it is from no XML."""
    whole, updates = deployed.folder / _WHOLE, list[bytes]()
    for number in _taken(deployed):
        place = deployed.folder / "versions" / str(number)
        if (place / _UPDATE).exists():
            updates.append((place / _UPDATE).read_bytes())
        else:
            whole, updates = place / _WHOLE, []
    return (whole.read_bytes(), updates) if whole.exists() else None


def newest(deployed: Deployed) -> Checked:
    """The diagram that runs."""
    numbers = _taken(deployed)
    return load_diagram(deployed.folder / "versions" / str(numbers[-1])) if numbers else deployed.checked


def _taken(deployed: Deployed) -> list[int]:
    """The diagrams that queries went over to, the oldest first."""
    starts = {query: len(decision.starts) for query, decision in deployed.layout.versions.items()}
    known = _known(deployed.folder)
    of = [(n, query, v < starts.get(query, 1)) for query, versions in known.items() for v, n in versions.items()]
    numbers = {number for number, _, taken in of if taken}
    partly = [query for number, query, taken in of if number in numbers and not taken]
    if partly:
        raise DeploymentError(
            f"the last update was given up for {partly[0]!r}, and took place for others\n    allowed: the whole diagram as it is to be\n"
            "    next: auroral change DIAGRAM"
        )
    return sorted(numbers)


def keep_text(folder: Path, content: bytes) -> None:
    """Of the XML that a deployment begins with."""
    replace_file(folder / _WHOLE, content)


def version_of(deployed: Deployed, query: str, version: int) -> Fragment:
    fragments = deployed.fragments
    if version:
        number = _known(deployed.folder)[query][version]
        fragments = deployed.cut(load_diagram(deployed.folder / "versions" / str(number)))
    return fragment_of(fragments, query)


def fragment_of(fragments: Fragments, query: str) -> Fragment:
    return next(fragment for fragment in fragments.all if fragment.name == query)


def reading_of(fragment: Fragment) -> dict[str, Reading]:
    """By output."""
    return {output.stream: Reading(output.reads, output.required) for output in fragment.outputs}


def assembly_with_versions(deployed: Deployed) -> Assembly:
    """With what all versions read that are known by now: also one that was given up, or never begun, as nobody knows yet which they are."""
    later = {
        query: {version: reading_of(version_of(deployed, query, version)) for version in sorted(versions)}
        for query, versions in _known(deployed.folder).items()
    }
    return replace(deployed.assembly, later=later)


def oracle(folder: RunFolder) -> Checked:
    """What a run without failures computes: the diagram, and where it was changed, each version for its time."""
    if not (folder.path / "versions.json").exists():
        return folder.checked
    deployed = Deployed.look(folder.path, folder.checked)
    return spliced(folder.checked, deployed.fragments, _decided(deployed))


def times_of_boxes(deployed: Deployed) -> Iterator[tuple[CheckedBox, str, int, int | None]]:
    """Of every version of every query that was decided: each box, what it is called in the oracle, and the stimes from which on and up to
    which the version holds."""
    decided = _decided(deployed)
    for fragment in deployed.fragments.all:
        later = decided.get(fragment.name, ())
        versions = [(deployed.first * deployed.checked.diagram.bucket, fragment), *later]
        for number, (begin, version) in enumerate(versions):
            end = versions[number + 1][0] if number + 1 < len(versions) else None
            for box in version.checked.boxes:
                name = name_of_version(box.box.name, number) if later else box.box.name
                yield box, name, begin, end


def _decided(deployed: Deployed) -> dict[str, list[tuple[int, Fragment]]]:
    bucket = deployed.checked.diagram.bucket
    return {
        query: [
            ((deployed.first + start) * bucket, version_of(deployed, query, version))
            for version, start in enumerate(decision.starts[1:], 1)
        ]
        for query, decision in deployed.layout.versions.items()
    }


def _known(folder: Path) -> dict[str, dict[int, int]]:
    """By query and version, the number of the diagram."""
    file = folder / "versions.json"
    if not file.exists():
        return {}
    return {query: {int(v): n for v, n in versions.items()} for query, versions in json.loads(file.read_text()).items()}
