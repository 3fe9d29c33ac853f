from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType

import httpx
from typing_extensions import Self

from ._batches import BatchProgress
from ._operations import Operations
from ._settings import DEFAULT_TIMEOUT, Settings
from .types import JobBatch


class Routerfleet(Operations):
    """A client for one service and one key. Threads can share it."""

    def __init__(
        self,
        base_url: str,
        key: str,
        *,
        attempts: int = 4,
        timeout: httpx.Timeout | float | None = DEFAULT_TIMEOUT,
        http: httpx.Client | None = None,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        """
        Args:
            base_url: The address of the service, for example `https://fleet.example.com`.
            key: An API key `flk_…` or an access token; for the operations of routers, a device token `fld_…`.
            attempts: How often a request is sent at most.
            timeout: Of one attempt, in seconds.
            http: A client of your own, for example with a proxy. It has its own timeout, and you close it.
            wait: Waits for a number of seconds.
        """
        super().__init__(Settings(base_url, key, attempts, timeout), http, wait)

    def wait_for_batch(
        self,
        org_id: str,
        id: str,
        *,
        on_progress: Callable[[JobBatch], None] | None = None,
        timeout_s: float | None = None,
    ) -> JobBatch:
        """Returns the batch when all its jobs have ended.

        Args:
            on_progress: Called with the batch at first and whenever its status, its counts or the reasons for which
                jobs are held have changed.
            timeout_s: Raises a `TimeoutError` after this time.
        """
        progress = BatchProgress(on_progress)
        end_s = float("inf") if timeout_s is None else time.monotonic() + timeout_s
        while True:
            batch = self.get_job_batch(org_id, id)
            pause_s = progress.pause_s(batch)
            if pause_s is None:
                return batch
            if time.monotonic() + pause_s > end_s:
                raise TimeoutError(f"The batch {id} has not ended in {timeout_s} seconds.")
            self._wait(pause_s)

    def close(self) -> None:
        """Closes the connections."""
        if self._owns_http:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
