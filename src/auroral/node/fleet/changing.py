"""Queries of a deployment get other boxes while it runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

from auroral.dpc.assembly import CATALOG
from auroral.dpc.fragments import Fragment, Fragments
from auroral.dpc.keeping import must_have_room
from auroral.dpc.settings import WrongSettings
from auroral.dpc.splicing import spliced
from auroral.model.checking import Checked
from auroral.model.errors import DiagramError
from auroral.model.expression import user_functions
from auroral.node.fleet.deployed import Deployed, DeploymentError
from auroral.node.fleet.evaluation import ordered_streams
from auroral.node.fleet.moving import catalog_of, only_here
from auroral.node.fleet.preparing import must_leave_time
from auroral.node.fleet.processes import Fleet
from auroral.node.fleet.versions import Text, add_versions, fragment_of, version_of
from auroral.node.functionwords import function_words
from auroral.node.storeddiagram import diagram_words


@dataclass(frozen=True, slots=True)
class Planned:
    """What is to be changed to get to a diagram; nothing is yet."""

    wanted: Checked
    versions: Mapping[str, int]
    """By query that differs from what runs, the version that it would be."""
    changed: Mapping[str, Fragment]


def plan(fleet: Fleet, wanted: Checked) -> Planned:
    """DiagramError or DeploymentError with all that is against it."""
    only_here(fleet)
    deployed, found = fleet.deployed, catalog_of(fleet)
    busy = {found["changing"], *(one["query"] for one in found["wanted"] if not one["comes"])}
    numbers = {query: len(found["starts"].get(query, [0])) for query in found["members"]}
    new = deployed.cut(wanted.runnable())
    _the_same_outside(deployed, wanted, new)
    now = {query: version_of(deployed, query, number - 1) for query, number in numbers.items()}
    versions = {query: n for query, n in numbers.items() if _words(now[query]) != _words(fragment_of(new, query))}
    changed = {query: fragment_of(new, query) for query in versions}
    problems = [
        problem
        for query, fragment in changed.items()
        for problem in _problems(deployed, fragment_of(deployed.fragments, query), fragment)
    ]
    problems += _loops(deployed, found, changed)
    if new.depth > deployed.fragments.depth:
        must_leave_time(wanted, new, min(deployed.agreed.bounds.values()))
    known = [version_of(deployed, query, version) for query, number in numbers.items() for version in range(number)]
    problems += _other_functions([*known, *new.all])
    if not ordered_streams(new) <= ordered_streams(deployed.fragments):
        problems.append("another stream between nodes would have to be kept in order")
    problems += [f"{query} is being changed already" for query in versions if query in busy]
    if not problems:
        problems += _unjudged(deployed, numbers, changed)
    if problems:
        raise DeploymentError(
            "the deployment cannot be changed to that: "
            + "; ".join(problems)
            + "\n    allowed: other expressions, parameters, windows and boxes "
            "within a query, which reads any of the streams that inputs and other queries give, and gives what it gave\n    next: mend it, or begin a new deployment with the new diagram"
        )
    return Planned(wanted, versions, changed)


def change(fleet: Fleet, wanted: Checked, text: Text | None) -> Mapping[str, int]:
    """To this diagram. Gives, by query, the version that is under way when this returns; none where nothing differs."""
    planned, deployed = plan(fleet, wanted), fleet.deployed
    versions = planned.versions
    if versions:
        number = add_versions(deployed.folder, wanted, versions, text)
        words = "\n".join(diagram_words(wanted))
        _all_learn(fleet, versions)
        for query, version in versions.items():
            had = fragment_of(deployed.fragments, query).inputs
            more = [stream for stream in planned.changed[query].inputs if stream not in had]
            fleet.ask(CATALOG, "change", query=query, version=version, diagram=number, words=words, inputs=more)
    return versions


def _all_learn(fleet: Fleet, versions: Mapping[str, int]) -> None:
    """Before anybody speaks of a version its replicas know what it reads. Those that do not run find it in the folder when they are started."""
    for node in fleet.deployed.nodes:
        if fleet.lives(node):
            for query, version in versions.items():
                fleet.ask(node, "learn", query=query, version=version)


def decided(catalog: Mapping[str, Any], query: str, version: int) -> int | None:
    """The bucket that the version holds from; None as long as that is not decided. `catalog` is what it has written down."""
    starts: list[int] = catalog["starts"].get(query, [0])
    return starts[version] if version < len(starts) else None


def under_way(catalog: Mapping[str, Any], query: str) -> bool:
    return catalog["changing"] == query or any(one["query"] == query and not one["comes"] for one in catalog["wanted"])


def _the_same_outside(deployed: Deployed, wanted: Checked, new: Fragments) -> None:
    before, after = deployed.checked.diagram, wanted.diagram
    differs = [
        ("bucket", before.bucket, after.bucket),
        ("inputs", *([(i.stream, i.schema, i.stamp, i.late) for i in d.inputs] for d in (before, after))),
        ("bounds", *([(o.stream, o.availability) for o in d.outputs] for d in (before, after))),
        (
            "outputs",
            *([(o.stream, c.streams[o.stream].schema) for o in c.diagram.outputs] for c in (deployed.checked, wanted)),
        ),
        ("connection points", before.views, after.views),
        ("queries and nodes", *(sorted((f.name, f.hosts) for f in cut.all) for cut in (deployed.fragments, new))),
    ]
    wrong = [f"{what}: {_short(old)} here, {_short(other)} there" for what, old, other in differs if old != other]
    if wrong:
        raise DeploymentError(
            "this is a diagram with other "
            + "; other ".join(wrong)
            + "\n    allowed: the diagram that runs, with changes within its queries"
        )


def _problems(deployed: Deployed, first: Fragment, new: Fragment) -> Iterator[str]:
    """Why replicas cannot go over to it."""
    name, fragments = new.name, deployed.fragments
    if set(first.streams) != set(new.streams):
        yield f"{name} would give other streams ({', '.join(new.streams)} and not {', '.join(first.streams)})"
        return
    given = {*fragments.sources, *(stream for fragment in fragments.all for stream in fragment.streams)}
    if unknown := [stream for stream in new.inputs if stream not in given]:
        yield f"{name} would read {unknown[0]}, which no other query gave when the deployment began"
        return
    before, assembly = {output.stream: output for output in first.outputs}, deployed.assembly
    for after in new.outputs:
        stream = after.stream
        was, would_be = first.checked.streams[stream], new.checked.streams[stream]
        if (was.schema, was.clocks) != (would_be.schema, would_be.clocks):
            yield f"{stream} would have other fields, or fields with other times"
        if before[stream].folds or after.folds:
            yield f"{stream} depends on all of the past, which another version did not see"
        for read in after.reads:
            if read not in first.inputs and assembly.bound(read) > assembly.bound(stream):
                yield (
                    f"{stream} would read {read}, which may be held back for {assembly.bound(read):g} s, "
                    f"and it itself only for {assembly.bound(stream):g} s"
                )
    try:
        must_have_room({output.stream: output for output in new.outputs}, deployed.settings)
    except WrongSettings as error:
        yield str(error)


def _loops(deployed: Deployed, found: Mapping[str, Any], changed: Mapping[str, Fragment]) -> Iterator[str]:
    """Queries read from each other in one direction, whichever of their versions it is: what one of them has read once is kept for it."""
    made = {stream: fragment.name for fragment in deployed.fragments.all for stream in fragment.streams}
    read = {fragment.name: {*fragment.inputs} for fragment in deployed.fragments.all}
    for query, streams in found["added"].items():
        read[query].update(streams)
    for one in found["wanted"]:
        read[one["query"]].update(one["inputs"])
    for query, fragment in changed.items():
        read[query].update(fragment.inputs)
    try:
        TopologicalSorter(
            {query: {made[one] for one in streams if one in made} for query, streams in read.items()}
        ).prepare()
    except CycleError as error:
        yield f"with what earlier versions read, queries would read from one another in a loop: {' reads from '.join(error.args[1][::-1])}"


def _unjudged(deployed: Deployed, numbers: Mapping[str, int], new: Mapping[str, Fragment]) -> list[str]:
    """What all versions come to together must be a diagram, or nobody could say whether it is right."""
    later = {
        query: [(version, version_of(deployed, query, version)) for version in range(1, number)]
        + ([(number, new[query])] if query in new else [])
        for query, number in numbers.items()
    }
    try:
        spliced(deployed.checked, deployed.fragments, later).runnable()
    except DiagramError as error:
        return [f"what comes behind it would not run any more ({error.problems[0].what})"]
    return []


def _other_functions(fragments: Iterable[Fragment]) -> Iterator[str]:
    """A diagram has one function of a name, also one that is made of several versions."""
    known: dict[str, str] = {}
    for fragment in fragments:
        for box in fragment.checked.boxes:
            for function in {f for e in box.typed.expressions() for f in user_functions(e)}:
                words = function_words(function)
                if known.setdefault(function.name, words) != words:
                    yield f"{function.name} is another function than before: give it another name"


def _words(fragment: Fragment) -> tuple[object, ...]:
    return (*diagram_words(fragment.checked), function_words(fragment.checked))


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 100 else f"{text[:97]}..."
