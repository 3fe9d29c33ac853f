from __future__ import annotations

from dataclasses import dataclass, field

import httpx

from ._call import Call

# A router waits for its next job for up to 55 seconds.
DEFAULT_TIMEOUT = httpx.Timeout(10.0, read=75.0)


@dataclass(frozen=True)
class Settings:
    """What all requests of a client share."""

    base_url: str
    key: str = field(repr=False)
    attempts: int
    timeout: httpx.Timeout | float | None

    def request(self, http: httpx.Client | httpx.AsyncClient, call: Call) -> httpx.Request:
        headers = call.sent_headers()
        if call.needs_key:
            headers["Authorization"] = f"Bearer {self.key}"
        return http.build_request(
            call.method,
            self.base_url.rstrip("/") + call.path,
            params=call.sent_query(),
            headers=headers,
            content=call.sent_content(),
            data=call.form,
        )
