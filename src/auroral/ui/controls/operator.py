"""Who may change something through the page: whoever knows the operator's token, and no other page in the browser.

The token is in a file of the deployment's folder that its owner alone can read. It is not the one that applications read outputs with, and no
cookie stands for it: the page sends it with each request, in a header that other sites cannot add.
"""

from __future__ import annotations

import hmac
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response

from auroral.node.fleet.serving import OPERATOR_TOKEN, secret_in

PATH = "/api/control/"
_SCHEME = "Bearer "


def operator_token(folder: Path) -> str:
    """The same in every life, made where there is none."""
    return secret_in(folder / OPERATOR_TOKEN)


def refused(headers: Headers, token: str) -> Response | None:
    """Why a request may change nothing. Its host was looked at before."""
    # A browser says from which page a request comes, and no page can say otherwise.
    if headers.get("origin", "").lower() != f"http://{headers.get('host', '').lower()}":
        return _answer("only the page itself may ask for that\nnext: open the address that auroral ui printed", 403)
    if headers.get("sec-fetch-site", "same-origin") != "same-origin":
        return _answer("only the page itself may ask for that\nnext: open the address that auroral ui printed", 403)
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return _answer("that is no JSON\nallowed: application/json", 415)
    given = headers.get("authorization", "")
    if not given.startswith(_SCHEME) or not hmac.compare_digest(
        given.removeprefix(_SCHEME).encode(errors="replace"), token.encode()
    ):
        return _answer(
            f"this is not the operator's token\nnext: it is in the deployment's folder, in the file {OPERATOR_TOKEN}",
            403,
        )
    return None


def _answer(text: str, status: int) -> Response:
    return PlainTextResponse(text + "\n", status)
