from __future__ import annotations

import gzip
import logging
from collections.abc import Callable
from typing import TypeAlias, TypeVar

import httpx

from ._problem import ProblemError, problem_of
from ._report_buffer import Report
from ._retries import back_off_s, retry_after_s
from .types import AcceptedReportRejectedItem

# Statuses for a report that will never be accepted.
REFUSALS = frozenset({400, 413, 415})

SENDER_TIMEOUT = httpx.Timeout(30.0)

logger = logging.getLogger("routerfleet")

# A sample that was not accepted: its index in the report, a code and a sentence.
Rejection: TypeAlias = AcceptedReportRejectedItem

Argument = TypeVar("Argument")


def report_request(http: httpx.Client | httpx.AsyncClient, base_url: str, token: str, report: Report) -> httpx.Request:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Content-Encoding": "gzip"}
    content = gzip.compress(report.body(), compresslevel=5)
    return http.build_request("POST", base_url.rstrip("/") + "/telemetry", headers=headers, content=content)


def rejections_of(response: httpx.Response, report: Report) -> list[Rejection]:
    """Returns the samples of a settled report that were not accepted. Raises an error if it must be sent again."""
    if response.status_code == httpx.codes.ACCEPTED:
        rejected: list[Rejection] = response.json()["rejected"]
        return rejected
    problem = problem_of(response)
    if problem.status not in REFUSALS:
        raise problem
    return [{"index": index, "code": problem.code, "detail": problem.detail} for index in range(len(report.samples))]


def resend_wait_s(error: Exception, attempt: int) -> float:
    asked_s = retry_after_s(error.headers) if isinstance(error, ProblemError) else None
    return back_off_s(attempt) if asked_s is None else asked_s


def notify(callback: Callable[[Argument], None] | None, argument: Argument) -> None:
    """Calls a function of the user. Its error must not end the sender."""
    if callback is None:
        return
    try:
        callback(argument)
    except Exception:
        logger.exception("A callback of the telemetry sender failed.")
