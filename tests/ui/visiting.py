"""Somebody who asks the server of the page, over real sockets."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    text: str


class Visitor:
    """A browser that has opened the address, or somebody who has not."""

    def __init__(self, address: str, key: bool = True):
        parts = urlsplit(address)
        self.host, self.port, self.key = str(parts.hostname), parts.port or 0, parts.query.removeprefix("key=")
        self.cookie = f"auroral-ui-{self.port}={self.key}" if key else ""

    def get(self, path: str, method: str = "GET", **headers: str) -> Answer:
        return self.send(path, method, headers)

    def send(self, path: str, method: str, headers: Mapping[str, str], body: bytes | None = None) -> Answer:
        with closing(http.client.HTTPConnection(self.host, self.port, timeout=10)) as connection:
            connection.request(method, path, body, headers={"Cookie": self.cookie, **headers})
            answer = connection.getresponse()
            said = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, said, answer.read().decode())

    def command(self, step: str, asked: Any, token: str, **headers: str) -> Answer:
        """As the page does; headers that are empty are left out, `_` stands for `-`."""
        own = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        own |= {"Origin": f"http://{self.host}:{self.port}", "Sec-Fetch-Site": "same-origin"}
        own |= {name.replace("_", "-"): value for name, value in headers.items()}
        given = {name: value for name, value in own.items() if value}
        return self.send(f"/api/control/{step}", "POST", given, json.dumps(asked).encode())

    def json(self, path: str) -> Any:
        return json.loads(self.get(path).text)

    def live(self) -> Iterator[dict[str, Any]]:
        with closing(http.client.HTTPConnection(self.host, self.port, timeout=10)) as connection:
            connection.request("GET", "/api/live", headers={"Cookie": self.cookie})
            with closing(connection.getresponse()) as answer:
                assert answer.getheader("content-type", "").startswith("text/event-stream")
                for line in answer:
                    if line.startswith(b"data: "):
                        yield json.loads(line.removeprefix(b"data: "))
