from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routerfleet import AsyncTelemetrySender, ProblemError, Rejection, TelemetrySender

from .unsteady import CUT, Unsteady, answer

ACCEPTED = answer(202, {"accepted": 1, "rejected": [], "jobsPending": 0})
PARTLY = answer(202, {"accepted": 0, "rejected": [{"index": 0, "code": "invalid_kind", "detail": ""}]})
REFUSED = answer(400, {"code": "invalid_request", "detail": "The body is not JSON."})
BUSY = answer(503, {}, retry_after="0")
# A proxy can answer for the service.
OTHER_PAGE = httpx.Response(200, content=b"<html>Sign in</html>")
UNREADABLE = httpx.Response(202, content=b"<html>")


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("routerfleet._delivery.back_off_s", lambda attempt: 0.0)


@dataclass
class Told:
    """What a sender told its callbacks, and what the service received."""

    errors: list[Exception] = field(default_factory=list)
    rejected: list[Rejection] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    pending: list[int] = field(default_factory=list)
    reports: list[Any] = field(default_factory=list)
    total_dropped: int = 0

    def callbacks(self) -> dict[str, Any]:
        return {
            "on_error": self.errors.append,
            "on_rejected": self.rejected.extend,
            "on_dropped": self.dropped.append,
        }

    def samples(self) -> list[list[int]]:
        return [[sample["uptimeS"] for sample in report["samples"]] for report in self.reports]

    def comparable(self) -> tuple[Any, ...]:
        """All that does not depend on time or chance: a batch id is the number of the first report with it."""
        ids = [report["batchId"] for report in self.reports]
        return (
            [ids.index(each) for each in ids],
            self.samples(),
            [type(error) for error in self.errors],
            self.rejected,
            self.dropped,
            self.pending,
            self.total_dropped,
        )


# Adds each number of samples, and flushes after it.
Run = Callable[..., Told]


def run_sync(service: Unsteady, *counts: int, max_samples: int = 100_000) -> Told:
    told = Told()
    uptime_s = 0
    sender = TelemetrySender(
        "http://fleet.test/", "fld_1", max_samples=max_samples, http=service.http(), **told.callbacks()
    )
    with sender:
        for count in counts:
            for _ in range(count):
                sender.add({"kind": "system", "uptimeS": uptime_s})
                uptime_s += 1
            told.pending.append(sender.pending)
            sender.flush()
    told.total_dropped = sender.dropped
    told.reports = service.reports
    return told


def run_async(service: Unsteady, *counts: int, max_samples: int = 100_000) -> Told:
    async def run() -> Told:
        told = Told()
        uptime_s = 0
        sender = AsyncTelemetrySender(
            "http://fleet.test/", "fld_1", max_samples=max_samples, http=service.async_http(), **told.callbacks()
        )
        async with sender:
            for count in counts:
                for _ in range(count):
                    sender.add({"kind": "system", "uptimeS": uptime_s})
                    uptime_s += 1
                told.pending.append(sender.pending)
                await sender.flush()
        told.total_dropped = sender.dropped
        told.reports = service.reports
        return told

    return asyncio.run(run())


both = pytest.mark.parametrize("run", [run_sync, run_async], ids=["sync", "async"])


@both
def test_a_report_keeps_its_id_and_samples_until_it_is_accepted(run: Run) -> None:
    service = Unsteady(CUT, BUSY, OTHER_PAGE, UNREADABLE, ACCEPTED)
    told = run(service, 1)
    assert [type(error) for error in told.errors[:3]] == [httpx.ConnectError, ProblemError, ProblemError]
    assert len(told.errors) == 4
    assert len({report["batchId"] for report in told.reports}) == 1
    assert all(report["samples"] == told.reports[0]["samples"] for report in told.reports)
    (sample,) = told.reports[0]["samples"]
    assert sample["ts"].endswith("Z")
    request = service.received[0]
    assert (request.method, str(request.url)) == ("POST", "http://fleet.test/telemetry")
    sent = {name: request.headers[name] for name in ("authorization", "content-encoding", "content-type")}
    assert sent == {"authorization": "Bearer fld_1", "content-encoding": "gzip", "content-type": "application/json"}


@both
def test_reports_have_at_most_500_samples_in_the_order_in_which_they_were_added(run: Run) -> None:
    told = run(Unsteady(ACCEPTED), 1_200)
    assert [uptime_s for report in told.samples() for uptime_s in report] == list(range(1_200))
    assert max(len(report) for report in told.samples()) <= 500
    assert len({report["batchId"] for report in told.reports}) == len(told.reports)


@both
def test_a_report_that_can_never_be_accepted_is_given_up_and_the_next_one_is_sent(run: Run) -> None:
    told = run(Unsteady(REFUSED, PARTLY), 2, 1)
    assert [each["code"] for each in told.rejected] == ["invalid_request", "invalid_request", "invalid_kind"]
    assert told.samples() == [[0, 1], [2]]


@both
def test_a_full_buffer_drops_the_oldest_samples_and_says_how_many(run: Run) -> None:
    told = run(Unsteady(ACCEPTED), 5, max_samples=2)
    assert (told.dropped, told.total_dropped, told.pending) == ([1, 1, 1], 3, [2])
    assert told.samples() == [[3, 4]]


answers = st.lists(st.sampled_from([CUT, BUSY, OTHER_PAGE, UNREADABLE, REFUSED, PARTLY, ACCEPTED]), max_size=8)


@settings(deadline=None, max_examples=60)
@given(answers=answers, counts=st.lists(st.integers(0, 20), max_size=4), max_samples=st.integers(1, 25))
def test_both_senders_do_the_same(answers: list[Any], counts: list[int], max_samples: int) -> None:
    told = [
        run(Unsteady(*answers, ACCEPTED), *counts, max_samples=max_samples).comparable()
        for run in (run_sync, run_async)
    ]
    assert told[0] == told[1]


def test_an_unreachable_service_ends_a_wait_after_its_time_and_the_samples_stay() -> None:
    sender = TelemetrySender("http://fleet.test", "fld_1", http=Unsteady(answer(503, {})).http())
    sender.add({"kind": "system", "uptimeS": 1})
    with pytest.raises(TimeoutError, match="1 samples are not acknowledged"):
        sender.flush(timeout_s=0.05)
    with pytest.raises(TimeoutError):
        sender.close(timeout_s=0.05)
    assert sender.pending == 1
    with pytest.raises(RuntimeError, match=r"The sender is closed\."):
        sender.add({"kind": "system", "uptimeS": 2})


def test_an_unreachable_service_ends_a_wait_of_a_task_too() -> None:
    async def run() -> None:
        sender = AsyncTelemetrySender("http://fleet.test", "fld_1", http=Unsteady(answer(503, {})).async_http())
        sender.add({"kind": "system", "uptimeS": 1})
        with pytest.raises(TimeoutError, match="1 samples are not acknowledged"):
            await sender.flush(timeout_s=0.05)
        with pytest.raises(TimeoutError):
            await sender.close(timeout_s=0.05)
        assert sender.pending == 1
        with pytest.raises(RuntimeError, match=r"The sender is closed\."):
            sender.add({"kind": "system", "uptimeS": 2})

    asyncio.run(run())


def test_samples_are_sent_without_a_flush_after_a_time() -> None:
    service = Unsteady(ACCEPTED)
    sent = threading.Event()
    http = httpx.Client(transport=httpx.MockTransport(service), event_hooks={"response": [lambda _: sent.set()]})
    sender = TelemetrySender("http://fleet.test", "fld_1", send_every_s=0.01, http=http)
    sender.add({"kind": "system", "uptimeS": 1})
    assert sent.wait(20)
    sender.close()
    assert len(service.reports) == 1


def test_samples_are_sent_by_a_task_without_a_flush_after_a_time() -> None:
    service = Unsteady(ACCEPTED)

    async def run() -> None:
        sent = asyncio.Event()

        async def note(_: httpx.Response) -> None:
            sent.set()

        http = httpx.AsyncClient(transport=httpx.MockTransport(service), event_hooks={"response": [note]})
        sender = AsyncTelemetrySender("http://fleet.test", "fld_1", send_every_s=0.01, http=http)
        sender.add({"kind": "system", "uptimeS": 1})
        await asyncio.wait_for(sent.wait(), 20)
        await sender.close()

    asyncio.run(run())
    assert len(service.reports) == 1


def test_an_error_in_a_callback_does_not_end_the_sender(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: object) -> None:
        raise LookupError("mine")

    service = Unsteady(CUT, PARTLY)
    with TelemetrySender("http://fleet.test", "fld_1", http=service.http(), on_error=fail, on_rejected=fail) as sender:
        sender.add({"kind": "system", "uptimeS": 1})
    assert sender.pending == 0
    assert [record.levelname for record in caplog.records if record.name == "routerfleet"] == ["ERROR"] * 2
