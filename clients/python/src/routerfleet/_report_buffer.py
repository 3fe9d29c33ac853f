from __future__ import annotations

import json
import uuid
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TypeAlias

from .types import TelemetryReportSample

Sample: TypeAlias = TelemetryReportSample

MAX_REPORT_SAMPLES = 500
MAX_REPORT_BYTES = 900_000


@dataclass(frozen=True)
class Report:
    """Samples as JSON. The id and the samples stay the same in each attempt, so that the service finds a repetition."""

    batch_id: str
    samples: tuple[bytes, ...]

    def body(self) -> bytes:
        """The JSON body of an attempt. `sentAt` is its time, by which the service corrects a wrong clock."""
        head = f'{{"sentAt":"{now_text()}","batchId":"{self.batch_id}","samples":['
        return head.encode() + b",".join(self.samples) + b"]}"


class ReportBuffer:
    """Samples that the service has not acknowledged, in the order in which they were added."""

    def __init__(self, max_samples: int) -> None:
        self._max_samples = max_samples
        self._waiting: deque[bytes] = deque()
        self._outgoing: Report | None = None
        self.dropped = 0
        """The number of samples that did not fit."""

    @property
    def pending(self) -> int:
        return len(self._waiting) + (0 if self._outgoing is None else len(self._outgoing.samples))

    @property
    def has_full_report(self) -> bool:
        return len(self._waiting) >= MAX_REPORT_SAMPLES

    def add(self, sample: Sample) -> int:
        """Adds a sample, with the present time if it has none. Returns how many of the oldest samples were dropped.

        The report that is being sent is not dropped.
        """
        self._waiting.append(encoded(sample))
        count = min(max(self.pending - self._max_samples, 0), len(self._waiting))
        for _ in range(count):
            self._waiting.popleft()
        self.dropped += count
        return count

    def next_report(self) -> Report | None:
        """Returns the same report until it is settled; None if the buffer is empty."""
        if self._outgoing is None and self._waiting:
            self._outgoing = Report(str(uuid.uuid4()), tuple(self._take()))
        return self._outgoing

    def settle(self) -> None:
        """Forgets the report that `next_report` returned."""
        self._outgoing = None

    def _take(self) -> list[bytes]:
        samples: list[bytes] = []
        size = 0
        while self._waiting and len(samples) < MAX_REPORT_SAMPLES:
            size += len(self._waiting[0]) + 1
            if samples and size > MAX_REPORT_BYTES:
                break
            samples.append(self._waiting.popleft())
        return samples


def encoded(sample: Mapping[str, object]) -> bytes:
    timed = {"ts": now_text(), **sample}
    return json.dumps(timed, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def now_text() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
