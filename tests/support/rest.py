# SPDX-License-Identifier: Apache-2.0
"""A small REST client for tests: over the server's unix socket or TCP, one connection, answers as values."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlencode


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]  # lower case
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text) if self.text else None


class Refused(Exception):
    """The server answered with 4xx or 5xx."""

    def __init__(self, what: str, answer: Answer) -> None:
        super().__init__(f"{what}: {answer.status} {answer.text[:600]}")
        self.status = answer.status
        self.answer = answer


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Event(NamedTuple):
    kind: str
    id: int
    data: Any


class Rest:
    """Target: "unix:PATH" or "http://HOST:PORT". Not for several threads at once."""

    def __init__(self, target: str, key: str, timeout: float = 20) -> None:
        self.target, self.key, self.timeout = target, key, timeout
        self._connection: http.client.HTTPConnection | None = None

    def _open(self) -> http.client.HTTPConnection:
        if self.target.startswith("unix:"):
            return _UnixConnection(self.target[5:], self.timeout)
        host, port = self.target.split("//", 1)[1].rsplit(":", 1)
        return http.client.HTTPConnection(host, int(port), timeout=self.timeout)

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        if self._connection:
            self._connection.close()
            self._connection = None

    def _headers(self, body: Any, more: dict[str, str]) -> tuple[bytes | None, dict[str, str]]:
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        if body is not None:
            headers["Content-Type"] = "application/json"
        return body.encode() if isinstance(body, str) else body, headers | more

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Any status; OSError or HTTPException when there was no answer. One try, on the kept connection."""
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        data, sent = self._headers(body, more)
        if self._connection is None:
            self._connection = self._open()
        try:
            self._connection.request(method, path, data, sent)
            response = self._connection.getresponse()
            text = response.read().decode()
        except BaseException:
            self.close()
            raise
        if response.will_close:
            self.close()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, text)

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """The answer's JSON; Refused for 4xx and 5xx."""
        answer = self.ask(method, path, body, **headers)
        if answer.status >= 400:
            raise Refused(f"{method} {path}", answer)
        return answer.json

    def get(self, path: str, **query: Any) -> Any:
        return self.call("GET", path + ("?" + urlencode(query) if query else ""))

    def list(self, path: str, **query: Any) -> list[Any]:
        """All pages."""
        items, token = [], ""
        while True:
            page = self.get(path, **query, **({"continue": token} if token else {}))
            items += page["items"]
            token = page["metadata"]["continue"]
            if not token:
                return items

    def stream(self, path: str, timeout: float = 20) -> tuple[Any, http.client.HTTPResponse]:
        """A response to be read piece by piece, on a connection of its own."""
        connection = self._open()
        connection.timeout = timeout
        connection.request("GET", path, headers=self._headers(None, {})[1])
        response = connection.getresponse()
        if response.status >= 400:
            answer = Answer(response.status, {}, response.read().decode())
            connection.close()
            raise Refused(f"GET {path}", answer)
        return connection, response

    def watch(self, path: str, timeout: float = 20, **query: Any) -> Iterator[Event]:
        """Events as they come, until the stream ends or nothing came for `timeout`."""
        connection, response = self.stream(f"{path}?{urlencode({'watch': 'true', **query})}", timeout)
        try:
            kind, ident, data = "", 0, ""
            for raw in response:
                line = raw.decode().rstrip("\n")
                if line.startswith("event:"):
                    kind = line[6:].strip()
                elif line.startswith("id:"):
                    ident = int(line[3:])
                elif line.startswith("data:"):
                    data += line[5:].strip()
                elif not line and data:
                    yield Event(kind, ident, json.loads(data))
                    kind, data = "", ""
        finally:
            connection.close()
