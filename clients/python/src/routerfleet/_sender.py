from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType

import httpx
from typing_extensions import Self

from ._delivery import SENDER_TIMEOUT, Rejection, notify, rejections_of, report_request, resend_wait_s
from ._report_buffer import Report, ReportBuffer, Sample


class TelemetrySender:
    """Collects samples and sends them as reports from a thread, one after the other.

    A report keeps its id and its samples until the service has answered, so that the service recognizes a repetition.
    """

    def __init__(
        self,
        base_url: str,
        token: str,
        *,
        send_every_s: float = 5.0,
        max_samples: int = 100_000,
        http: httpx.Client | None = None,
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
        self._http = httpx.Client(timeout=SENDER_TIMEOUT) if http is None else http
        self._on_rejected = on_rejected
        self._on_dropped = on_dropped
        self._on_error = on_error
        self._buffer = ReportBuffer(max_samples)
        # Guards the members below and the buffer.
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._due_s: float | None = None
        self._is_closed = False

    @property
    def pending(self) -> int:
        """The number of samples that are not acknowledged."""
        with self._changed:
            return self._buffer.pending

    @property
    def dropped(self) -> int:
        """The number of samples that did not fit into the buffer so far."""
        with self._changed:
            return self._buffer.dropped

    def add(self, sample: Sample) -> None:
        """Adds a sample. Its `ts` is the present time if it has none."""
        with self._changed:
            if self._is_closed:
                raise RuntimeError("The sender is closed.")
            dropped = self._buffer.add(sample)
            if self._buffer.has_full_report:
                self._start(0.0)
            elif self._due_s is None:
                self._start(self._send_every_s)
        if dropped > 0 and self._on_dropped is not None:
            self._on_dropped(dropped)

    def flush(self, timeout_s: float | None = None) -> None:
        """Returns when the service has answered for all samples. Raises a `TimeoutError` after `timeout_s`."""
        with self._changed:
            if self._buffer.pending > 0 and not self._is_closed:
                self._start(0.0)
            if not self._changed.wait_for(lambda: self._buffer.pending == 0 or self._is_closed, timeout_s):
                raise TimeoutError(f"{self._buffer.pending} samples are not acknowledged after {timeout_s} seconds.")

    def close(self, timeout_s: float | None = None) -> None:
        """Sends what is left and ends. After `timeout_s`, raises a `TimeoutError` and gives up the rest."""
        try:
            self.flush(timeout_s)
        finally:
            with self._changed:
                self._is_closed = True
                self._changed.notify_all()
            if self._thread is not None and self.pending == 0:
                self._thread.join()
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

    def _start(self, delay_s: float) -> None:
        """Lets the thread send after the delay, or earlier if it is due earlier."""
        due_s = time.monotonic() + delay_s
        self._due_s = due_s if self._due_s is None else min(due_s, self._due_s)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="routerfleet-telemetry", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _run(self) -> None:
        attempt = 1
        while (report := self._next_report()) is not None:
            try:
                rejected = self._send(report)
            except Exception as error:
                if self._pause(error, attempt):
                    return
                attempt += 1
                continue
            attempt = 1
            if rejected:
                notify(self._on_rejected, rejected)
            with self._changed:
                self._buffer.settle()
                self._changed.notify_all()

    def _next_report(self) -> Report | None:
        """Waits until a report is due. Returns None when the sender is closed."""
        with self._changed:
            while not self._is_closed:
                if self._due_s is not None and self._due_s <= time.monotonic():
                    report = self._buffer.next_report()
                    if report is not None:
                        return report
                    self._due_s = None
                self._changed.wait(None if self._due_s is None else self._due_s - time.monotonic())
            return None

    def _send(self, report: Report) -> list[Rejection]:
        request = report_request(self._http, self._base_url, self._token, report)
        return rejections_of(self._http.send(request), report)

    def _pause(self, error: Exception, attempt: int) -> bool:
        """Waits before the next attempt. Returns whether the sender was closed."""
        if not self._is_closed:
            notify(self._on_error, error)
        with self._changed:
            return self._changed.wait_for(lambda: self._is_closed, resend_wait_s(error, attempt))
