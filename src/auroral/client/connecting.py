"""Reaches the client process of a deployment."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.flight as fl

from auroral.client.errors import ClientError
from auroral.client.events import Stable, Tentative
from auroral.client.link import Link
from auroral.client.subscription import Subscription
from auroral.edge.revisedview import standing
from auroral.model.deployment import ENDPOINTS, Endpoint, endpoint
from auroral.model.errors import unknown_name
from auroral.wire.certificates import READER, READERS, Certificates
from auroral.wire.errors import WireError
from auroral.wire.outputs import OUTPUTS, VERSION

TOKEN_VARIABLE = "AURORAL_TOKEN"
PATIENCE = 60.0
"""Seconds for which a process that is away is waited for."""
_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


@dataclass(frozen=True, slots=True)
class About:
    """What a deployment says of its outputs: how long its buckets are, where it began, and up to where each output is stable (stimes)."""

    bucket: int
    begin: int
    frontiers: Mapping[str, int]
    views: Mapping[str, Kept] = field(default_factory=dict)
    """Connection points, by name."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What a connection point keeps: rows of this output, from this stime on."""

    stream: str
    begin: int


def connect(
    where: str | os.PathLike[str],
    token: str | None = None,
    patience: float = PATIENCE,
    certificates: str | os.PathLike[str] | None = None,
) -> Client:
    """To the deployment in a folder of this machine, or at "host:port".

    The token is the one in the deployment's file `token`; it is read from there, or from AURORAL_TOKEN, where none is given. `patience` is
    how many seconds a client process that is away is waited for, here and later. `certificates` is a copy of the folder `tls-readers/reader` of a
    deployment that was begun with --tls; the folder's owner need not name it.
    """
    folder = Path(where)
    if folder.is_dir():
        at, token = _in_folder(folder, token)
        ours = folder / READERS / READER
        certificates = certificates or (ours if ours.exists() else None)
    else:
        at = _address(os.fspath(where))
        token = token or os.environ.get(TOKEN_VARIABLE)
        if token is None:
            raise ClientError(
                f"{at} is asked without a token\n    allowed: what stands in the file `token` of the deployment's folder\n"
                f"    next: connect({str(at)!r}, token=...), or put it into {TOKEN_VARIABLE}"
            )
    client = Client(Link(at, token, patience, _certificates(certificates)))
    try:
        client.about()
    except BaseException:
        client.close()
        raise
    return client


class Client:
    """From `connect`. May be used by several threads."""

    def __init__(self, link: Link):
        self._link = link

    @property
    def streams(self) -> tuple[str, ...]:
        """The outputs of the deployment."""
        return tuple(self.about().frontiers)

    def about(self) -> About:
        def ask(flight: Any, options: Any) -> About:
            (answer,) = flight.do_action(fl.Action(OUTPUTS, b""), options)
            said = json.loads(answer.body.to_pybytes())
            if said.get("version") != VERSION:
                raise ClientError(
                    f"{self._link.at} speaks another version: {said.get('version')}\n    allowed: {VERSION}\n"
                    "    next: install the version of auroral that the deployment runs with"
                )
            frontiers = {stream: one["frontier"] for stream, one in said["outputs"].items()}
            views = {name: Kept(one["stream"], one["begin"]) for name, one in said.get("views", {}).items()}
            return About(said["bucket"], said["begin"], frontiers, views)

        return self._link.asked(ask)

    def subscribe(
        self, stream: str, *, tentative: bool = True, since: int | datetime | str | None = None
    ) -> Subscription:
        """What happens to an output, one event after the other, for as long as it is iterated.

        `since` is the stime, or the time, from whose bucket on; "now" for what comes from now on; left out, everything from the beginning on.
        Without `tentative`, stable events alone.
        """
        return self.subscription(
            stream, self._about(stream), "now" if since == "now" else stime_of(since), tentative=tentative
        )

    def subscription(
        self, stream: str, about: About, since: int | str | None, *, tentative: bool = True, follow: bool = True
    ) -> Subscription:
        """The same; or, without `follow`, what there is now."""
        position = about.frontiers[stream] if since == "now" else since
        assert not isinstance(position, str), "a stime, or now"
        return Subscription(self._link, stream, about.bucket, tentative, position, follow)

    def fields(self, stream: str) -> pa.Schema:
        """The columns of an output: its stime, then its fields."""
        about = self._about(stream)
        with self.subscription(stream, about, about.frontiers[stream], tentative=False, follow=False) as found:
            for _ in found:
                pass
            return found.schema

    def table(self, stream: str, *, since: int | datetime | None = None, revised: bool = False) -> pa.Table:
        """What holds now: all stable rows, and the tentative ones behind them; the column `_tentative` tells which is which.

        Everything from the beginning on, or from the bucket of `since`. With `revised`, for a stream whose rows may be revised: revisions are
        applied, and each row is at the stime that it belongs to.
        """
        about = self._about(stream)
        stable: list[pa.Table] = []
        tentative: dict[int, pa.Table] = {}
        with Subscription(self._link, stream, about.bucket, True, stime_of(since), follow=False) as found:
            for event in found:
                tentative = {lo: rows for lo, rows in tentative.items() if lo >= event.hi}
                match event:
                    case Stable():
                        stable.append(event.rows)
                    case Tentative():
                        tentative[event.lo] = event.rows
            schema = found.schema
        name = "__tentative" if "_tentative" in schema.names else "_tentative"
        tables = [schema.append(pa.field(name, pa.bool_())).empty_table()]
        for flag, pieces in ((False, stable), (True, [rows for _, rows in sorted(tentative.items())])):
            tables += [rows.append_column(name, pa.repeat(pa.scalar(flag), rows.num_rows)) for rows in pieces]
        found_rows = pa.concat_tables(tables)
        return standing(found_rows, (name,)) if revised else found_rows

    def close(self) -> None:
        self._link.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _about(self, stream: str) -> About:
        about = self.about()
        if stream not in about.frontiers:
            raise ClientError(str(unknown_name("output", stream, list(about.frontiers))))
        return about


def _in_folder(folder: Path, token: str | None) -> tuple[Endpoint, str]:
    try:
        at = endpoint(json.loads((folder / "deployment.json").read_text())["serve"])
    except (OSError, ValueError, KeyError) as error:
        raise ClientError(
            f"{folder} has no deployment: {error}\n    allowed: a folder that `auroral up` made, or host:port\n    next: check the path"
        ) from error
    if token := token or os.environ.get(TOKEN_VARIABLE):
        return at, token
    try:
        return at, (folder / "token").read_text().strip()
    except OSError as error:
        raise ClientError(
            f"the token of {folder} cannot be read: {error.strerror}\n    allowed: its owner, once the deployment was started\n"
            f"    next: ask the owner for it, and give it as token=... or in {TOKEN_VARIABLE}"
        ) from error


def _certificates(folder: str | os.PathLike[str] | None) -> Certificates | None:
    try:
        return None if folder is None else Certificates.from_folder(Path(folder))
    except WireError as error:
        raise ClientError(
            f"{error}\n    next: copy the folder {READERS}/{READER} of the deployment, and give its path as certificates=..."
        ) from error


def _address(text: str) -> Endpoint:
    try:
        if ":" not in text or "/" in text:
            raise ValueError(f"{text[:60]!r} is neither")
        return endpoint(text)
    except ValueError as error:
        raise ClientError(
            f"there is no deployment at {text!r}: {error}\n    allowed: the folder of a deployment, or {ENDPOINTS}\n    next: check the path"
        ) from error


def stime_of(since: int | datetime | str | None) -> int | None:
    if isinstance(since, datetime):
        if since.tzinfo is None:
            raise ClientError(f"since={since!r} has no time zone\n    next: for example datetime.now(UTC)")
        return round((since - _EPOCH).total_seconds() * 1e6)
    if since is None or (isinstance(since, int) and not isinstance(since, bool)):
        return since
    raise ClientError(
        f'since={since!r} is no time\n    allowed: a stime in microseconds, a datetime with a time zone, or "now"\n'
        "    next: leave it out to begin with the beginning"
    )
