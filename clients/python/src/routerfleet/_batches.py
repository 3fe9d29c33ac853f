from __future__ import annotations

from collections.abc import Callable

from .types import JobBatch

FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 5.0


class BatchProgress:
    """Decides when to read a batch again: often after a change, then every five seconds."""

    def __init__(self, on_progress: Callable[[JobBatch], None] | None) -> None:
        self._on_progress = on_progress
        self._seen: object = None
        self._pause_s = FIRST_PAUSE_S

    def pause_s(self, batch: JobBatch) -> float | None:
        """Reports a change. Returns the time to the next request, or None when the batch has ended."""
        state = (batch["status"], batch["counts"], batch.get("heldReasons"))
        if state != self._seen:
            self._pause_s = FIRST_PAUSE_S
            if self._on_progress is not None:
                self._on_progress(batch)
        self._seen = state
        if batch["status"] in ("finished", "cancelled"):
            return None
        pause_s = self._pause_s
        self._pause_s = min(pause_s * 1.5, LONGEST_PAUSE_S)
        return pause_s
