"""Who may see the page, and what it may do in a browser.

Rows are shown, so whoever looks must know the key in the address that `auroral ui` prints. It follows from the deployment's token, which its
owner alone can read: it is the same after a restart, and nobody learns the token from it.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Collection
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from auroral.ui.controls import operator

KEY = "key"
_LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def key_of(token: str) -> str:
    return hmac.new(token.encode(), b"auroral ui", hashlib.sha256).hexdigest()[:32]


class Guard:
    """Before everything else that is served. `hosts`: names under which it may be called besides those of this machine; with `anywhere`, also
    under any address, but not under names that somebody else may have made up for it (DNS rebinding)."""

    def __init__(
        self, app: ASGIApp, key: str, hosts: Collection[str], anywhere: bool, port: int, operator: str | None = None
    ):
        """`operator` is the token of who may change something; without, nobody may."""
        self.app, self.key, self.anywhere, self.operator = app, key, anywhere, operator
        self.hosts = _LOCAL | {host.lower() for host in hosts}
        # A browser gives cookies of one port to all others of that machine.
        self.cookie = f"auroral-ui-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        answer = self._refused(scope) or self.app
        await answer(scope, receive, with_headers)

    def _refused(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if not self._is_ours(headers.get("host", "")):
            return PlainTextResponse(
                f"{headers.get('host', 'nobody')!r} is not how this page is called\nnext: open the address that auroral ui printed\n",
                421,
            )
        changes = scope["method"] == "POST" and scope["path"].startswith(operator.PATH) and self.operator is not None
        if not changes and scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("nothing can be changed here\n", 405, {"Allow": "GET, HEAD"})
        asked = parse_qs(scope["query_string"].decode("latin-1"))
        given = asked.pop(KEY, [""])[0]
        if scope["path"] == "/" and hmac.compare_digest(given.encode(), self.key.encode()):
            # Out of the address bar, so that it is not shown to whoever looks at a picture of the page.
            rest = urlencode(asked, doseq=True)
            answer = RedirectResponse("/" + (f"?{rest}" if rest else ""), 303)
            answer.set_cookie(self.cookie, self.key, httponly=True, samesite="strict", max_age=30 * 86_400)
            return answer
        if not hmac.compare_digest(_cookie(headers, self.cookie).encode(), self.key.encode()):
            return PlainTextResponse(
                "this page is for those who know its key\nnext: open the whole address that auroral ui printed, with ?key=...\n",
                403,
            )
        return operator.refused(headers, str(self.operator)) if changes else None

    def _is_ours(self, host: str) -> bool:
        name = host.lower()
        if not name.endswith("]"):
            before, colon, port = name.rpartition(":")
            name = before if colon and port.isdigit() else name
        return name in self.hosts or (self.anywhere and _is_address(name))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _cookie(headers: Headers, name: str) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return "" if found is None else found.value
