"""The page and what it asks for, over HTTP: files, the picture, details of boxes and streams, and server-sent events with what changes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from auroral.model.errors import AuroralError
from auroral.node.fleet.processes import Fleet
from auroral.ui.controls.acting import Operator
from auroral.ui.controls.editing import arrows, box_edits
from auroral.ui.controls.operator import PATH as CONTROL
from auroral.ui.details import box_details, stream_details
from auroral.ui.guarding import Guard
from auroral.ui.watching import Watched

STATIC = Path(__file__).parent / "static"
LOOK_EVERY = 0.5
_MOST_WHOLE = 2**53 - 1
_MOST_ASKED = 1 << 18
_SENT_WHOLE = ("streams", "groups", "outputs", "timeline", "ledger", "controls")
"""Parts that are sent again only when they changed."""


class Looking:
    """Looks at the deployment for as long as anybody watches, and tells all of them when it has."""

    def __init__(self, watched: Watched, every: float = LOOK_EVERY):
        self.watched, self.every = watched, every
        self.ending = asyncio.Event()
        self._readers = 0
        self._task: asyncio.Task[None] | None = None
        self._looked = asyncio.Condition()
        self._count = 0

    @contextlib.asynccontextmanager
    async def reading(self) -> AsyncIterator[int]:
        """What was looked at for somebody else is new enough; what nobody looked at for a while is not."""
        self._readers += 1
        new_enough = self._task is not None and not self._task.done()
        if not new_enough:
            self._task = asyncio.create_task(self._run())
        try:
            yield max(0, self._count - 1) if new_enough else self._count
        finally:
            self._readers -= 1

    async def _run(self) -> None:
        while self._readers and not self.ending.is_set():
            await asyncio.to_thread(self.watched.look)
            self._count += 1
            async with self._looked:
                self._looked.notify_all()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.ending.wait(), self.every)

    async def next(self, seen: int) -> int:
        """Comes back when it has been looked once more than `seen` times; -1 at the end."""
        async with self._looked:
            while self._count <= seen and not self.ending.is_set():
                # It ends without telling.
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._looked.wait(), 1.0)
        return -1 if self.ending.is_set() else self._count


async def messages(looking: Looking) -> AsyncIterator[str]:
    """What the page is told, one JSON text after the other: everything first, and then what changed."""
    watched, sent, change = looking.watched, dict[str, str](), 0
    async with looking.reading() as seen:
        while (seen := await looking.next(seen)) >= 0:
            with watched.changing:
                live, squares, changes = watched.live, watched.strips.since(change), watched.strips.changes
            told = {name: value for name, value in live.items() if name not in _SENT_WHOLE}
            for part in _SENT_WHOLE:
                if part in live and sent.get(part) != (text := _json(live[part])):
                    sent[part] = text
                    told[part] = live[part]
            if squares:
                told["squares"] = squares
            change = changes
            yield _json(told)


def _json(value: Any) -> str:
    return json.dumps(_plain(value), ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    """JSON has no infinity and no NaN, and numbers in a browser are doubles: rows may have others."""
    match value:
        case float() if not math.isfinite(value):
            return str(value)
        case int() if abs(value) > _MOST_WHOLE:
            return str(value)
        case dict():
            return {str(key): _plain(one) for key, one in value.items()}
        case list() | tuple():
            return [_plain(one) for one in value]
        case _:
            return value


def make_app(
    watched: Watched, key: str, *, host: str, port: int, anywhere: bool = False, operator: str | None = None
) -> Starlette:
    """With the token of an `operator`, things can be done to the deployment too."""
    looking = Looking(watched)

    async def mode(_: Request) -> Response:
        return answer(lambda: {"replay": None})

    async def live(_: Request) -> Response:
        async def events() -> AsyncIterator[str]:
            async for text in messages(looking):
                yield f"data: {text}\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    async def drawn(_: Request) -> Response:
        if watched.stage is None:
            await asyncio.to_thread(watched.look)
        return answer(lambda: {} if watched.stage is None else dict(watched.stage.picture))

    async def box(request: Request) -> Response:
        return await asyncio.to_thread(answer, lambda: _box(watched, request.query_params.get("name", "")))

    async def stream(request: Request) -> Response:
        return await asyncio.to_thread(answer, lambda: _stream(watched, request.query_params.get("name", "")))

    async def control(request: Request) -> Response:
        asked = await _asked(request)
        if isinstance(asked, Response):
            return asked
        return await asyncio.to_thread(answer, lambda: _control(watched, request.path_params["step"], asked), 200)

    routes = [
        Route("/api/mode", mode),
        Route(CONTROL + "{step:str}", control, methods=["POST"]),
        Route("/api/live", live),
        Route("/api/picture", drawn),
        Route("/api/box", box),
        Route("/api/stream", stream),
    ]
    return app_of(routes, looking.ending.set, key=key, host=host, port=port, anywhere=anywhere, operator=operator)


def app_of(routes: Sequence[Route], end: Callable[[], None] = lambda: None, *, host: str, **guarded: Any) -> Starlette:
    """With the files of the page, and guarded. `end` is called when it is to end, in the thread that serves it."""

    async def page(_: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    async def icon(_: Request) -> Response:
        return FileResponse(STATIC / "icon.svg")

    @contextlib.asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        app.state.end = lambda: loop.call_soon_threadsafe(end)
        yield

    files = [Route("/", page), Route("/favicon.ico", icon), Mount("/static", StaticFiles(directory=STATIC))]
    guard = Middleware(Guard, hosts=(host,), **guarded)
    return Starlette(routes=[*routes, *files], middleware=[guard], lifespan=life)


def answer(find: Callable[[], dict[str, Any]], refused: int = 404) -> Response:
    """What a command would refuse is an answer too: `refused` is its number."""
    try:
        return Response(_json(find()), media_type="application/json")
    except (AuroralError, OSError) as error:
        return JSONResponse({"error": str(error)}, refused)


async def _asked(request: Request) -> dict[str, Any] | Response:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > _MOST_ASKED:
            return JSONResponse({"error": f"that is more than {_MOST_ASKED} bytes"}, 413)
    try:
        asked = json.loads(bytes(body))
    except (ValueError, RecursionError):
        asked = None
    return asked if isinstance(asked, dict) else JSONResponse({"error": "that is no JSON object"}, 400)


def _control(watched: Watched, step: str, asked: dict[str, Any]) -> dict[str, Any]:
    if step == "enter":
        return {}
    # As it is now: it may be that nobody looked for a while, and a command changed it.
    watched.look()
    operator = Operator(_known(watched), watched.groups)
    match step:
        case "foretell":
            return operator.foretell(asked)
        case "act":
            return {"done": operator.act(asked)}
        case _:
            raise AuroralError(f"{step!r} cannot be asked\n    allowed: enter, foretell, act")


def _box(watched: Watched, name: str) -> dict[str, Any]:
    fleet = _known(watched)
    found = box_details(watched.groups, name, fleet.status())
    return found | (box_edits(watched.groups, name) if watched.controls else {})


def _stream(watched: Watched, name: str) -> dict[str, Any]:
    fleet = _known(watched)
    found = stream_details(fleet, watched.groups, name)
    return found | ({"arrows": arrows(watched.groups, name)} if watched.controls else {})


def _known(watched: Watched) -> Fleet:
    if watched.fleet is None:
        watched.look()
    if watched.fleet is None:
        raise AuroralError(str(watched.live.get("trouble", "nothing is known of the deployment yet")))
    return watched.fleet
