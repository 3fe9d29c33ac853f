from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from typing import Any

import httpx

Answer = httpx.Response | Exception

CUT = httpx.ConnectError("The connection was cut.")


def answer(status: int, body: Any = None, **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, content=b"" if body is None else json.dumps(body).encode(), headers=named)


class Unsteady:
    """A service that gives these answers in turn; the last one again and again."""

    def __init__(self, *answers: Answer) -> None:
        self._answers: Sequence[Answer] = answers
        self.received: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.received.append(request)
        given = self._answers[min(len(self.received), len(self._answers)) - 1]
        if isinstance(given, Exception):
            raise given
        return httpx.Response(given.status_code, content=given.content, headers=given.headers)

    @property
    def paths(self) -> list[str]:
        return [request.url.raw_path.decode() for request in self.received]

    @property
    def reports(self) -> list[Any]:
        return [json.loads(gzip.decompress(request.content)) for request in self.received]

    def http(self) -> httpx.Client:
        return httpx.Client(transport=httpx.MockTransport(self))

    def async_http(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.MockTransport(self))
