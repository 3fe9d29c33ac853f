from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
Page = TypeVar("Page")


class Listing(Generic[Item, Page]):
    """All items of a list. Requests the next page when one is used up. Each loop reads the list again."""

    def __init__(self, read: Callable[[str | None], Any]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[Item]:
        for page in self._pages():
            yield from page["items"]

    def pages(self) -> Iterator[Page]:
        """Yields the pages, which have `items`, `nextCursor` and, in some lists, more."""
        return self._pages()

    def first_page(self) -> Page:
        """Returns one page: the first, or the one at `cursor`. The next one begins at its `nextCursor`."""
        page: Page = self._read(None)
        return page

    def _pages(self) -> Iterator[Any]:
        cursor: str | None = None
        while True:
            page = self._read(cursor)
            yield page
            cursor = page["nextCursor"]
            if cursor is None:
                return


class AsyncListing(Generic[Item, Page]):
    """All items of a list. Requests the next page when one is used up. Each loop reads the list again."""

    def __init__(self, read: Callable[[str | None], Awaitable[Any]]) -> None:
        self._read = read

    async def __aiter__(self) -> AsyncIterator[Item]:
        async for page in self._pages():
            for item in page["items"]:
                yield item

    def pages(self) -> AsyncIterator[Page]:
        """Yields the pages, which have `items`, `nextCursor` and, in some lists, more."""
        return self._pages()

    async def first_page(self) -> Page:
        """Returns one page: the first, or the one at `cursor`. The next one begins at its `nextCursor`."""
        page: Page = await self._read(None)
        return page

    async def _pages(self) -> AsyncIterator[Any]:
        cursor: str | None = None
        while True:
            page = await self._read(cursor)
            yield page
            cursor = page["nextCursor"]
            if cursor is None:
                return
