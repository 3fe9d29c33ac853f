from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx

from ._call import Call
from ._download import Download
from ._listing import Listing
from ._problem import is_success, problem_of
from ._retries import wait_s, with_idempotency_key
from ._settings import Settings


class Requests:
    """Sends the requests of the generated methods."""

    def __init__(
        self, settings: Settings, http: httpx.Client | None, wait: Callable[[float], None] = time.sleep
    ) -> None:
        self._settings = settings
        self._owns_http = http is None
        self._http = httpx.Client(timeout=settings.timeout) if http is None else http
        self._wait = wait

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str | None] | None = None,
        json: Any = None,
    ) -> httpx.Response:
        """Sends a request and returns its response, with headers such as `ETag`. Raises a `ProblemError`."""
        return self._read(Call(method, path, query or {}, headers or {}, json=json))

    def _json(self, call: Call) -> Any:
        return self._read(call).json()

    def _optional(self, call: Call) -> Any:
        response = self._read(call)
        return response.json() if response.content else None

    def _none(self, call: Call) -> None:
        self._read(call)

    def _list(self, call: Call) -> Listing[Any, Any]:
        return Listing(lambda cursor: self._json(call.with_cursor(cursor)))

    def _download(self, call: Call) -> Download:
        return Download(lambda: self._opened(call))

    def _read(self, call: Call) -> httpx.Response:
        response = self._send(self._settings.request(self._http, call), stream=False)
        if not is_success(response):
            raise problem_of(response)
        return response

    @contextmanager
    def _opened(self, call: Call) -> Iterator[httpx.Response]:
        response = self._send(self._settings.request(self._http, call), stream=True)
        try:
            if not is_success(response):
                response.read()
                raise problem_of(response)
            yield response
        finally:
            response.close()

    def _send(self, request: httpx.Request, *, stream: bool) -> httpx.Response:
        """Sends a request again while its outcome is temporary."""
        sent = with_idempotency_key(request)
        attempt = 1
        while True:
            outcome: httpx.Response | httpx.TransportError
            try:
                outcome = self._http.send(sent, stream=stream)
            except httpx.TransportError as error:
                outcome = error
            next_s = wait_s(outcome, attempt, self._settings.attempts)
            if next_s is None:
                if isinstance(outcome, httpx.TransportError):
                    raise outcome
                return outcome
            if isinstance(outcome, httpx.Response):
                outcome.close()
            self._wait(next_s)
            attempt += 1
