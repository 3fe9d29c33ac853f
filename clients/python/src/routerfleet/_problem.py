from __future__ import annotations

from typing import Any, cast

import httpx

from .types import Problem
from .types import ProblemError as InvalidValue


class ProblemError(Exception):
    """A response that is not successful. The message is the `detail` of the RFC 9457 problem document."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    """A word for programs, such as `not_found` or `device_quota_exceeded`."""
    request_id: str
    """The id of the request, for the log of the service."""
    errors: list[InvalidValue]
    """The values of the request that are invalid."""
    problem: Problem
    """The whole document, with the members of this kind of problem."""
    headers: httpx.Headers
    """The headers of the response."""

    def __init__(self, problem: Problem, headers: httpx.Headers | None = None) -> None:
        super().__init__(problem["detail"])
        self.type = problem["type"]
        self.title = problem["title"]
        self.status = problem["status"]
        self.detail = problem["detail"]
        self.code = problem["code"]
        self.request_id = problem["requestId"]
        self.errors = problem.get("errors", [])
        self.problem = problem
        self.headers = httpx.Headers() if headers is None else headers

    def __reduce__(self) -> tuple[Any, ...]:
        return (ProblemError, (self.problem, self.headers))


def is_success(response: httpx.Response) -> bool:
    return response.is_success or response.status_code == httpx.codes.NOT_MODIFIED


def problem_of(response: httpx.Response) -> ProblemError:
    """Returns the error of a response whose body was read."""
    # A proxy in front of the service can answer with another body.
    try:
        sent = response.json()
    except ValueError:
        sent = None
    document = {
        "type": "about:blank",
        "title": response.reason_phrase,
        "detail": f"The service returned status {response.status_code}.",
        "code": "unknown",
        "requestId": response.headers.get("x-request-id", ""),
        **(sent if isinstance(sent, dict) else {}),
        "status": response.status_code,
    }
    return ProblemError(cast("Problem", document), response.headers)
