from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from types import TracebackType

import httpx
from typing_extensions import Self

from ._delivery import SENDER_TIMEOUT, Rejection, notify, rejections_of, report_request, resend_wait_s
from ._report_buffer import Report, ReportBuffer, Sample


class AsyncTelemetrySender:
    """Collects samples and sends them as reports from a task of `asyncio`, one after the other.

    A report keeps its id and its samples until the service has answered, so that the service recognizes a repetition.
    """

    def __init__(
        self,
        base_url: str,
        token: str,
        *,
        send_every_s: float = 5.0,
        max_samples: int = 100_000,
        http: httpx.AsyncClient | None = None,
        on_rejected: Callable[[list[Rejection]], None] | None = None,
        on_dropped: Callable[[int], None] | None = None,
        on_error: Callable[[Exception], None] | None = None,
    ) -> None:
        """
        Args:
            base_url: The address of the service.
            token: The device token `fld_…`.
            send_every_s: Time between reports. A full report is sent at once.
            max_samples: The most samples to keep while the service cannot be reached. The oldest are dropped first.
            http: A client of your own, for example with a proxy. You close it.
            on_rejected: Called with samples that the service does not accept. They are not sent again.
            on_dropped: Called with the number of samples that did not fit into the buffer.
            on_error: Called with the error of each failed attempt. The report is sent again.
        """
        self._base_url = base_url
        self._token = token
        self._send_every_s = send_every_s
        self._owns_http = http is None
        self._http = httpx.AsyncClient(timeout=SENDER_TIMEOUT) if http is None else http
        self._on_rejected = on_rejected
        self._on_dropped = on_dropped
        self._on_error = on_error
        self._buffer = ReportBuffer(max_samples)
        self._timer: asyncio.TimerHandle | None = None
        self._sending: asyncio.Task[None] | None = None
        self._is_closed = False

    @property
    def pending(self) -> int:
        """The number of samples that are not acknowledged."""
        return self._buffer.pending

    @property
    def dropped(self) -> int:
        """The number of samples that did not fit into the buffer so far."""
        return self._buffer.dropped

    def add(self, sample: Sample) -> None:
        """Adds a sample. Its `ts` is the present time if it has none. Call it where the event loop runs."""
        if self._is_closed:
            raise RuntimeError("The sender is closed.")
        dropped = self._buffer.add(sample)
        if self._buffer.has_full_report:
            self._start()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._send_every_s, self._start)
        if dropped > 0 and self._on_dropped is not None:
            self._on_dropped(dropped)

    async def flush(self, timeout_s: float | None = None) -> None:
        """Returns when the service has answered for all samples. Raises a `TimeoutError` after `timeout_s`."""
        end_s = None if timeout_s is None else time.monotonic() + timeout_s
        while self._buffer.pending > 0 and not self._is_closed:
            left_s = None if end_s is None else max(end_s - time.monotonic(), 0)
            ended, _ = await asyncio.wait({self._start()}, timeout=left_s)
            if not ended:
                raise TimeoutError(f"{self._buffer.pending} samples are not acknowledged after {timeout_s} seconds.")

    async def close(self, timeout_s: float | None = None) -> None:
        """Sends what is left and ends. After `timeout_s`, raises a `TimeoutError` and gives up the rest."""
        try:
            await self.flush(timeout_s)
        finally:
            self._is_closed = True
            self._stop_timer()
            if self._sending is not None:
                self._sending.cancel()
                await asyncio.wait({self._sending})
            if self._owns_http:
                await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def _start(self) -> asyncio.Task[None]:
        self._stop_timer()
        if self._sending is None or self._sending.done():
            self._sending = asyncio.get_running_loop().create_task(self._drain())
        return self._sending

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _drain(self) -> None:
        """Sends reports until the buffer is empty."""
        attempt = 1
        while (report := self._buffer.next_report()) is not None:
            try:
                rejected = await self._send(report)
            except Exception as error:
                notify(self._on_error, error)
                await asyncio.sleep(resend_wait_s(error, attempt))
                attempt += 1
                continue
            attempt = 1
            if rejected:
                notify(self._on_rejected, rejected)
            self._buffer.settle()

    async def _send(self, report: Report) -> list[Rejection]:
        request = report_request(self._http, self._base_url, self._token, report)
        return rejections_of(await self._http.send(request), report)
