from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx

from ._call import Call
from ._download import AsyncDownload
from ._listing import AsyncListing
from ._problem import is_success, problem_of
from ._retries import wait_s, with_idempotency_key
from ._settings import Settings


class AsyncRequests:
    """Sends the requests of the generated methods."""

    def __init__(
        self,
        settings: Settings,
        http: httpx.AsyncClient | None,
        wait: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._settings = settings
        self._owns_http = http is None
        self._http = httpx.AsyncClient(timeout=settings.timeout) if http is None else http
        self._wait = wait

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str | None] | None = None,
        json: Any = None,
    ) -> httpx.Response:
        """Sends a request and returns its response, with headers such as `ETag`. Raises a `ProblemError`."""
        return await self._read(Call(method, path, query or {}, headers or {}, json=json))

    async def _json(self, call: Call) -> Any:
        return (await self._read(call)).json()

    async def _optional(self, call: Call) -> Any:
        response = await self._read(call)
        return response.json() if response.content else None

    async def _none(self, call: Call) -> None:
        await self._read(call)

    def _list(self, call: Call) -> AsyncListing[Any, Any]:
        return AsyncListing(lambda cursor: self._json(call.with_cursor(cursor)))

    def _download(self, call: Call) -> AsyncDownload:
        return AsyncDownload(lambda: self._opened(call))

    async def _read(self, call: Call) -> httpx.Response:
        response = await self._send(self._settings.request(self._http, call), stream=False)
        if not is_success(response):
            raise problem_of(response)
        return response

    @asynccontextmanager
    async def _opened(self, call: Call) -> AsyncIterator[httpx.Response]:
        response = await self._send(self._settings.request(self._http, call), stream=True)
        try:
            if not is_success(response):
                await response.aread()
                raise problem_of(response)
            yield response
        finally:
            await response.aclose()

    async def _send(self, request: httpx.Request, *, stream: bool) -> httpx.Response:
        """Sends a request again while its outcome is temporary."""
        sent = with_idempotency_key(request)
        attempt = 1
        while True:
            outcome: httpx.Response | httpx.TransportError
            try:
                outcome = await self._http.send(sent, stream=stream)
            except httpx.TransportError as error:
                outcome = error
            next_s = wait_s(outcome, attempt, self._settings.attempts)
            if next_s is None:
                if isinstance(outcome, httpx.TransportError):
                    raise outcome
                return outcome
            if isinstance(outcome, httpx.Response):
                await outcome.aclose()
            await self._wait(next_s)
            attempt += 1
