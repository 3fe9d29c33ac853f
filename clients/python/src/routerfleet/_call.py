from __future__ import annotations

import json as json_text
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any
from urllib.parse import quote

Scalar = str | int | float | bool | datetime


@dataclass(frozen=True)
class Call:
    """A request of one operation: what the generated methods describe."""

    method: str
    path: str
    query: Mapping[str, Scalar | Sequence[Scalar] | None] = field(default_factory=dict)
    headers: Mapping[str, str | None] = field(default_factory=dict)
    json: Any = None
    form: Any = None
    content: str | bytes | None = None
    content_type: str | None = None
    needs_key: bool = True

    def with_cursor(self, cursor: str | None) -> Call:
        """The same request for another page."""
        if cursor is None:
            return self
        return Call(self.method, self.path, {**self.query, "cursor": cursor}, self.headers, needs_key=self.needs_key)

    def sent_query(self) -> tuple[tuple[str, str], ...]:
        """The parameters as they are sent. A list repeats its parameter."""
        return tuple(
            (name, query_text(entry))
            for name, value in self.query.items()
            if value is not None
            for entry in ([value] if isinstance(value, Scalar) else value)
        )

    def sent_headers(self) -> dict[str, str]:
        sent = {name: value for name, value in self.headers.items() if value is not None}
        if self.json is not None:
            sent["Content-Type"] = "application/json"
        elif self.content_type is not None and self.content is not None:
            sent["Content-Type"] = self.content_type
        return sent

    def sent_content(self) -> str | bytes | None:
        if self.json is None:
            return self.content
        # A number that JSON does not have, such as NaN, is an error here.
        return json_text.dumps(self.json, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def segment(value: str | int) -> str:
    """Returns a part of a path with its reserved characters encoded."""
    return quote(str(value), safe="")


def query_text(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"The time {value.isoformat()} needs a time zone, for example timezone.utc.")
        return value.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return str(value)
