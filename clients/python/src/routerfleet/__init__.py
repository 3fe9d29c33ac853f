"""The Python client of Routerfleet, which manages fleets of cellular routers."""

from . import types
from ._async_client import AsyncRouterfleet
from ._async_sender import AsyncTelemetrySender
from ._client import Routerfleet
from ._delivery import Rejection
from ._download import AsyncDownload, Download
from ._listing import AsyncListing, Listing
from ._problem import ProblemError
from ._report_buffer import Sample
from ._sender import TelemetrySender

__all__ = [
    "AsyncDownload",
    "AsyncListing",
    "AsyncRouterfleet",
    "AsyncTelemetrySender",
    "Download",
    "Listing",
    "ProblemError",
    "Rejection",
    "Routerfleet",
    "Sample",
    "TelemetrySender",
    "types",
]
