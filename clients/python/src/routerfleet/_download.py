from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from os import PathLike

import httpx


class Download:
    """A response that is not JSON, such as CSV, NDJSON, events or a tile. The request is sent when it is read."""

    def __init__(self, open_response: Callable[[], AbstractContextManager[httpx.Response]]) -> None:
        self._open = open_response

    def read(self) -> bytes:
        """Returns the whole body; nothing for 204 and 304."""
        with self._open() as response:
            return response.read()

    def chunks(self) -> Iterator[bytes]:
        """Yields the body as it arrives."""
        with self._open() as response:
            yield from response.iter_bytes()

    def lines(self) -> Iterator[str]:
        """Yields the lines of a text as they arrive, without their ends."""
        with self._open() as response:
            yield from response.iter_lines()

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the body to a file, without keeping all of it in memory."""
        with self._open() as response, open(path, "wb") as file:
            for chunk in response.iter_bytes():
                file.write(chunk)


class AsyncDownload:
    """A response that is not JSON, such as CSV, NDJSON, events or a tile. The request is sent when it is read."""

    def __init__(self, open_response: Callable[[], AbstractAsyncContextManager[httpx.Response]]) -> None:
        self._open = open_response

    async def read(self) -> bytes:
        """Returns the whole body; nothing for 204 and 304."""
        async with self._open() as response:
            return await response.aread()

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yields the body as it arrives."""
        async with self._open() as response:
            async for chunk in response.aiter_bytes():
                yield chunk

    async def lines(self) -> AsyncIterator[str]:
        """Yields the lines of a text as they arrive, without their ends."""
        async with self._open() as response:
            async for line in response.aiter_lines():
                yield line

    async def save(self, path: str | PathLike[str]) -> None:
        """Writes the body to a file, without keeping all of it in memory."""
        async with self._open() as response:
            with open(path, "wb") as file:
                async for chunk in response.aiter_bytes():
                    file.write(chunk)
