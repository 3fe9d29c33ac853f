from __future__ import annotations

import random
import uuid
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

import httpx

# The service did not process a request with these statuses, or its proxy could not reach it.
TEMPORARY = frozenset({429, 502, 503, 504})
# Errors of a request that would fail again.
PERMANENT = (httpx.UnsupportedProtocol, httpx.LocalProtocolError)

FIRST_WAIT_S = 0.25
LONGEST_WAIT_S = 30.0

Outcome = httpx.Response | httpx.TransportError


def with_idempotency_key(request: httpx.Request) -> httpx.Request:
    """Gives a POST a key that its repetitions share, so that the service does its work once."""
    if request.method == "POST":
        request.headers.setdefault("Idempotency-Key", str(uuid.uuid4()))
    return request


def wait_s(outcome: Outcome, attempt: int, attempts: int) -> float | None:
    """Returns the time to wait before the next attempt, or None if the outcome is final.

    A request is repeated after a connection error, 429, 502, 503 and 504. It waits for the time in `Retry-After`,
    otherwise twice as long after each attempt.
    """
    if attempt >= attempts:
        return None
    if isinstance(outcome, httpx.Response):
        if outcome.status_code not in TEMPORARY:
            return None
        asked_s = retry_after_s(outcome.headers)
        return back_off_s(attempt) if asked_s is None else asked_s
    return None if isinstance(outcome, PERMANENT) else back_off_s(attempt)


def retry_after_s(headers: httpx.Headers) -> float | None:
    """Returns the time in `Retry-After`, which is in seconds or a date; None without one that can be read."""
    header = headers.get("retry-after", "").strip()
    if header.isdecimal():
        return min(float(header), LONGEST_WAIT_S)
    try:
        date = parsedate_to_datetime(header)
    except ValueError:
        return None
    remaining_s = (date.replace(tzinfo=date.tzinfo or timezone.utc) - datetime.now(timezone.utc)).total_seconds()
    return min(max(remaining_s, 0.0), LONGEST_WAIT_S)


def back_off_s(attempt: int) -> float:
    """Doubles with each attempt. Half of it is random, so that many clients do not return at the same time."""
    longest_s: float = min(FIRST_WAIT_S * 2.0 ** min(attempt - 1, 16), LONGEST_WAIT_S)
    return longest_s / 2 + longest_s / 2 * random.random()
