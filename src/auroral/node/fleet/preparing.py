"""A new deployment in a folder: what its processes agree on is chosen, checked and written down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from auroral.dpc.assembly import CATALOG, CLIENT, Assembly
from auroral.dpc.fragments import Fragments, cut
from auroral.dpc.settings import AS_USUAL, Choices, Settings
from auroral.edge.deliverysinks import Place, check_table, place_of
from auroral.edge.intake import Intake, Way, parse_intake
from auroral.model.boxes.changes import TableChanges
from auroral.model.boxes.local_clock import local_clocks
from auroral.model.checking import Checked
from auroral.model.deployment import ENDPOINTS, LOCAL_HOST, SHARED, Endpoint, endpoint
from auroral.model.deployment_text import read_deployment_text
from auroral.model.errors import unknown_name
from auroral.node.committing import check_new
from auroral.node.feeds import check_input, first_stime
from auroral.node.fleet.catalog import without_password
from auroral.node.fleet.deployed import SPARK, Agreed, Deployed, DeploymentError
from auroral.node.fleet.processes import free_ports
from auroral.node.runfolder import RunFolder
from auroral.wire.certificates import NAMES, can_be_certified

LONGEST = 100
SYSTEM = (CLIENT, SPARK, CATALOG)
"""Processes that every deployment has."""
USUAL_JOB = 0.1
"""Seconds that a job of one bucket takes where Spark is warm and has a core for it, for judging a bound before anything was measured."""


def prepare(
    folder: Path,
    checked: Checked,
    deployment: str | None = None,
    *,
    bound: float | None = None,
    replicas: int = 2,
    inputs: Mapping[str, str] | None = None,
    master: str = "local[2]",
    outputs: Sequence[tuple[str, str]] = (),
    stable_only: bool = False,
    serve: str | None = None,
    catalog: str = "",
    spark: str = SHARED,
    tls: bool = False,
    insecure: bool = False,
    host: str | None = None,
    choices: Choices = AS_USUAL,
) -> Deployed:
    """`deployment` is the text of its file, XML or YAML; without one, all queries run on so many nodes of this machine. `inputs` say how rows come in
    (see `edge.intake`); an input that is not named takes lines of JSON at a free port. `outputs` say of streams where else their rows go,
    with or without what is tentative; applications read them at `serve`, or at a free port. `catalog` is the address of a PostgreSQL
    database; left out, the catalog is a file in the folder.

    `spark` is what nodes compute with of which the deployment does not say it.

    With `tls`, each process gets a certificate, and none speaks to anybody who has none. Without, nodes may listen at addresses that other
    machines reach only where that is said to be meant (`insecure`).

    `host` is where other machines reach this one, which has the sources and the client. The nodes whose endpoints have this host run here, the
    others elsewhere. Without it, all run here.

    Each output has the bound that its availability says, or `bound` where that is given.
    """
    checked = checked.runnable()
    asked = None if deployment is None else read_deployment_text(deployment)
    fragments = cut(checked, asked, replicas)
    _names_must_differ(fragments)
    if tls:
        _names_can_be_certified(fragments)
    elif not insecure:
        _only_this_machine(fragments.endpoints, host)
    _must_reach_one_another(fragments.endpoints, host)
    _only_outputs(checked, fragments)
    intakes = _intakes(checked, fragments, inputs or {})
    sinks = _sinks(checked, outputs)
    bounds = _bounds(checked, fragments, bound)
    _can_be_chosen(checked, fragments, bounds, choices)
    _catalog_must_be(catalog)
    # The client is told by the catalog whom to read from.
    places = [*fragments.sources, CLIENT, *(() if fragments.endpoints else _nodes(fragments))]
    at = host or LOCAL_HOST
    free = iter(free_ports(len(places) + len(intakes) + 1, at))
    endpoints = {name: str(where) for name, where in fragments.endpoints.items()}
    endpoints |= {name: f"{at}:{next(free)}" for name in places}
    # Who sends rows or reads outputs is on this machine, unless it is said where.
    local = (f"{LOCAL_HOST}:{port}" for port in free)
    intakes |= {s: replace(one, where=next(local)) for s, one in intakes.items() if one.listens and not one.where}
    given = {stream: str(intake) for stream, intake in intakes.items()}
    agreed = Agreed(
        bounds=bounds,
        ping_every=_ping_every(checked),
        first=None,
        replicas=replicas,
        endpoints=endpoints,
        serve=next(local) if serve is None else _address(serve),
        inputs=given,
        master=master,
        origin=_origin(checked, fragments, intakes),
        outputs=sinks,
        stable_only=stable_only,
        catalog=catalog,
        sparks=_sparks(fragments, {} if asked is None else asked.sparks, spark),
        tls=tls,
        host=host,
        choices=choices,
    )
    # With outputs of its own only: what the client is given stable.
    with RunFolder.claim(folder, checked, given, {}, flush=False) as made:
        if made.resumed:
            raise DeploymentError(
                f"{folder} has a run already\n    allowed: a new or empty folder\n"
                f"    next: to go on with a deployment, auroral up --folder {folder} alone; or choose another folder"
            )
        return Deployed.create(folder, checked, agreed, deployment)


def _sinks(checked: Checked, outputs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """With absolute paths: a process that is started again may be so from another folder."""
    known = [output.stream for output in checked.diagram.outputs]
    places: dict[Place, str] = {}
    plain: set[Place] = set()
    for stream, text in outputs:
        if stream not in known:
            raise DeploymentError(str(unknown_name("output stream", stream, known)))
        place = place_of(stream, text)
        _key_must_be_the_tables(checked, stream, place)
        if place.spelt_plainly in plain:
            raise DeploymentError(f"{place} is given twice as an output\n    next: give each output its own")
        plain.add(place.spelt_plainly)
        places[place] = stream
        if place.kind == "file":
            check_new([place.where])
        else:
            check_table(place, checked.streams[stream].schema)
    return [(stream, str(place)) for place, stream in places.items()]


def _key_must_be_the_tables(checked: Checked, stream: str, place: Place) -> None:
    """By another key, a row would take the place of others that the diagram's table has beside it."""
    given = next((box.spec for box in checked.diagram.boxes if stream in box.outputs), None)
    if not place.key or not isinstance(given, TableChanges):
        return
    keys = next(table.keys for table in checked.diagram.tables if table.name == given.table)
    if set(place.key) != set(keys):
        raise DeploymentError(
            f"{place}: the key of table {given.table!r} is {', '.join(keys)}, and not {', '.join(place.key)}\n"
            f"    allowed: the whole key, and nothing else\n    next: write ?key={','.join(keys)}"
        )


def _address(serve: str) -> str:
    try:
        return str(endpoint(serve))
    except ValueError as error:
        raise DeploymentError(
            f"outputs cannot be served there: {error}\n    allowed: {ENDPOINTS}\n    next: write for example --serve :15500"
        ) from error


def _nodes(fragments: Fragments) -> list[str]:
    return list(dict.fromkeys(node for fragment in fragments.all for node in fragment.hosts))


def _sparks(fragments: Fragments, said: Mapping[Endpoint, str], otherwise: str) -> dict[str, str]:
    at = {name: where.plain for name, where in fragments.endpoints.items()}
    return {name: said[at[name]] if at.get(name) in said else otherwise for name in _nodes(fragments)}


def _names_must_differ(fragments: Fragments) -> None:
    names = [*fragments.sources, *_nodes(fragments), *SYSTEM]
    for name in names:
        if "/" in name or name.startswith(".") or len(name.encode()) > LONGEST:
            raise DeploymentError(
                f"no process can have the name {name!r}: files are named after it\n"
                f"    allowed: up to {LONGEST} bytes, without / and not beginning with a dot\n    next: rename the input or the replica set"
            )
        if names.count(name) > 1:
            raise DeploymentError(
                f"two processes would have the name {name!r}\n"
                f"    allowed: inputs and nodes with different names, other than {', '.join(SYSTEM)}\n"
                "    next: rename the input, or the replica set that the node is named after"
            )


def _names_can_be_certified(fragments: Fragments) -> None:
    wrong = [name for name in (*fragments.sources, *_nodes(fragments)) if not can_be_certified(name)]
    if wrong:
        raise DeploymentError(
            f"no certificate can be made out to {', '.join(map(repr, wrong))}\n    allowed: {NAMES}\n"
            "    next: rename the input, or the replica set that the node is named after"
        )


def _only_this_machine(endpoints: Mapping[str, Endpoint], host: str | None) -> None:
    sources = {} if host is None else {"sources": Endpoint(host)}
    for name, where in {**endpoints, **sources}.items():
        if not where.loopback:
            raise DeploymentError(
                f"{name} would listen at {where}, where anybody who reaches it could speak for a node\n"
                f"    allowed: addresses that only this machine reaches, as {LOCAL_HOST}, or certificates\n"
                "    next: --tls; or, in a network where everybody is trusted, --insecure"
            )


def _must_reach_one_another(endpoints: Mapping[str, Endpoint], host: str | None) -> None:
    for name, where in endpoints.items():
        if where.unspecified:
            raise DeploymentError(
                f"{name} is at {where}, which is no address that others can call\n"
                "    allowed: an address of its machine\n    next: mend the endpoint"
            )
        if host is None and not where.loopback:
            raise DeploymentError(
                f"{name} is at {where}, and it is not known where other machines reach this one\n"
                f"    allowed: endpoints that only this machine reaches, as {LOCAL_HOST}, or --host\n"
                "    next: --host ADDRESS: nodes at this address run here, the others on other machines"
            )


def _intakes(checked: Checked, fragments: Fragments, given: Mapping[str, str]) -> dict[str, Intake]:
    """How the rows of each input come in. What cannot be is refused here, before anything is made."""
    for stream in given:
        if stream not in fragments.sources:
            raise DeploymentError(
                f"there is no input {stream!r}\n    allowed: {', '.join(fragments.sources)}\n    next: check --input"
            )
    clocks = local_clocks(checked.diagram)
    usual = {stream: "clock" if stream in clocks else "tcp:" for stream in fragments.sources}
    found = {stream: parse_intake(stream, given.get(stream, usual[stream])) for stream in fragments.sources}
    for stream, intake in found.items():
        if intake.way is Way.CLOCK and stream not in clocks:
            raise DeploymentError(
                f"input {stream!r} is no clock\n    allowed: clock for {', '.join(clocks) or 'inputs that timeouts go by'}\n"
                "    next: say how its rows come in"
            )
    read = [stream for stream, intake in found.items() if intake.way is Way.STDIN]
    if len(read) > 1:
        raise DeploymentError(
            f"standard input is read for {' and '.join(read)}\n    allowed: one input\n    next: give the others another way"
        )
    for stream, intake in found.items():
        source, folder = checked.diagram.input(stream), Path(intake.where)
        if intake.way is Way.RECORDED and source is not None:
            check_input(source, intake.spec(stream))
        if intake.way is Way.TAIL:
            folder = folder.parent
        if intake.way in (Way.FOLDER, Way.TAIL) and not folder.is_dir():
            raise DeploymentError(
                f"input {stream!r}: there is no folder {folder}\n    allowed: a folder that is there; files in it may come later\n"
                f"    next: mkdir -p {folder}, or check the path"
            )
    return found


def _origin(checked: Checked, fragments: Fragments, intakes: Mapping[str, Intake]) -> int | None:
    """Of files with times of their own, the first bucket. What else there is would have to be of the same time."""
    files = [stream for stream in fragments.sources if intakes[stream].way is Way.RECORDED]
    first = [
        found
        for stream in files
        if (found := first_stime(checked.diagram.input(stream), str(intakes[stream]))) is not None
    ]
    if not first:
        return None
    by_clock = [
        s for s in fragments.sources if (i := checked.diagram.input(s)) is not None and not (i.stamp and i.stamp.field)
    ]
    if by_clock:
        raise DeploymentError(
            f"input {by_clock[0]!r} is stamped by the clock, and others are files with times of their own\n"
            "    allowed: either, for all inputs of a deployment\n    next: say which field its time is in: input(..., stime=FIELD)"
        )
    return min(first) // checked.diagram.bucket


def _ping_every(checked: Checked) -> float:
    """Four times in a bucket: silence for less than two buckets is no failure. But more than ten times a second would be work for its own
    sake, and rarer than four times would make a change of replica slow."""
    return min(0.25, max(0.1, checked.diagram.bucket / 4e6))


def _bounds(checked: Checked, fragments: Fragments, asked: float | None) -> dict[str, float]:
    """By output; one without an availability waits for ever. With less than what is refused, no failure could be answered in time; for replicas
    of several queries that fail one after the other it takes more, which a replica reports that has not so much."""
    said = {output.stream: output.availability for output in checked.diagram.outputs}
    bounds = {
        stream: asked if asked is not None else float("inf") if (us := said[stream]) is None else us / 1e6
        for stream in fragments.client
    }
    must_leave_time(checked, fragments, min(bounds.values()))
    return bounds


def must_leave_time(checked: Checked, fragments: Fragments, bound: float) -> None:
    """DeploymentError where no failure could be answered within it."""
    times = Settings(bucket=checked.diagram.bucket / 1e6, bound=float("inf"), ping_every=_ping_every(checked))
    needed = times.detection + times.failover + fragments.depth * (USUAL_JOB + times.hop)
    least = round(max(needed, 2 * times.detection), 1)
    if bound < least:
        raise DeploymentError(
            f"the bound of {bound:g} s is too short: with buckets of {times.bucket:g} s a failure is noticed after "
            f"{times.detection:g} s, and then each of the {fragments.depth} queries on the longest way takes {USUAL_JOB + times.hop:g} s, and "
            f"{times.failover:g} s if another replica of one must be read\n"
            f"    allowed: at least {least:g} s\n    next: a larger bound or availability, or shorter buckets"
        )


def _can_be_chosen(checked: Checked, fragments: Fragments, bounds: Mapping[str, float], choices: Choices) -> None:
    """WrongSettings where a replica would refuse them."""
    times = Settings(bucket=checked.diagram.bucket / 1e6, bound=min(bounds.values()), ping_every=_ping_every(checked))
    made = Assembly(fragments, choices.applied(times), bounds)
    for core in (core for replicas in made.layout.members.values() for core in replicas):
        made.replica(core, made.layout, recovering=False)


def _catalog_must_be(address: str) -> None:
    """What all agree on can be read by others."""
    user = address.partition("://")[2].rpartition("@")[0]
    if address and (not address.startswith(("postgresql://", "postgres://")) or ":" in user):
        raise DeploymentError(
            f"a catalog cannot be at {without_password(address)!r}\n    allowed: postgresql://USER@HOST/DATABASE, without a password\n"
            "    next: put the password into ~/.pgpass or PGPASSWORD; or leave --catalog out"
        )


def _only_outputs(checked: Checked, fragments: Fragments) -> None:
    outputs = [output.stream for output in checked.diagram.outputs]
    for stream in fragments.client:
        if stream not in outputs:
            raise DeploymentError(
                f"the deployment subscribes to {stream!r}, which is no output\n    allowed: {', '.join(outputs)}\n"
                "    next: make it an output of the diagram"
            )
