"""Serves a recording: the page, the picture, facts of the whole, and what was at a time."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from auroral.model.errors import AuroralError
from auroral.ui.details import box_details, fields_of
from auroral.ui.replay.replaying import Replaying
from auroral.ui.server import answer, app_of


def make_replay(replaying: Replaying, key: str, *, host: str, port: int, anywhere: bool = False) -> Starlette:
    recording = replaying.recording

    async def drawn(_: Request) -> Response:
        return answer(lambda: dict(recording.stage.picture))

    async def facts(_: Request) -> Response:
        return await asyncio.to_thread(answer, lambda: {"replay": replaying.facts()})

    async def frame(request: Request) -> Response:
        return await asyncio.to_thread(answer, lambda: replaying.frame(_time(request.query_params.get("at", ""))))

    async def box(request: Request) -> Response:
        asked = request.query_params
        at = asked.get("at", str(recording.end))
        return await asyncio.to_thread(answer, lambda: _box(replaying, asked.get("name", ""), _time(at)))

    async def stream(request: Request) -> Response:
        return answer(lambda: _stream(replaying, request.query_params.get("name", "")))

    routes = [
        Route("/api/mode", facts),
        Route("/api/picture", drawn),
        Route("/api/frame", frame),
        Route("/api/box", box),
        Route("/api/stream", stream),
    ]
    return app_of(routes, key=key, host=host, port=port, anywhere=anywhere)


def _time(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = float("nan")
    if found != found:
        raise AuroralError(f"{text[:40]!r} is no time\n    allowed: seconds")
    return found


def _box(replaying: Replaying, name: str, at: float) -> dict[str, Any]:
    recording = replaying.recording
    if recording.groups:
        return box_details(recording.groups, name, replaying.status(at))
    for box in recording.stage.picture["boxes"]:
        if box["name"] == name:
            gives = [{"stream": stream, "fields": ""} for stream in box.get("outputs", ())]
            return {
                "name": name,
                "facts": [("type", box["type"])],
                "parameters": [],
                "outputs": gives,
                "counts": [],
                "sql": "",
            }
    raise AuroralError(f"there is no box {name!r} in this trace")


def _stream(replaying: Replaying, name: str) -> dict[str, Any]:
    recording = replaying.recording
    if name not in [one["name"] for one in recording.stage.picture["streams"]]:
        raise AuroralError(f"there is no stream {name!r} in this recording")
    fields = fields_of(recording.groups, name)
    return {"name": name, "fields": fields, "why": {}, "rows": [], "output": False, "recorded": True}
