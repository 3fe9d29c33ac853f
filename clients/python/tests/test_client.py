from __future__ import annotations

import asyncio
import pickle
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import httpx
import pytest

from routerfleet import AsyncRouterfleet, ProblemError, Routerfleet, types

from .unsteady import CUT, Unsteady, answer

UUID = "0198c0de-7a11-7c3e-9f00-5e3d2b1a0c4f"


class Clients:
    """A client of each kind for a service. They note how long they would wait."""

    def __init__(self, service: Unsteady, attempts: int = 4) -> None:
        self.waits: list[float] = []

        async def wait(seconds: float) -> None:
            self.waits.append(seconds)

        url = "http://fleet.test/"
        self.fleet = Routerfleet(url, "flk_1", attempts=attempts, http=service.http(), wait=self.waits.append)
        self.async_fleet = AsyncRouterfleet(url, "flk_1", attempts=attempts, http=service.async_http(), wait=wait)


Action = Callable[[Clients], Any]


def awaited(action: Callable[[AsyncRouterfleet], Awaitable[Any]]) -> Action:
    async def run(clients: Clients) -> Any:
        return await action(clients.async_fleet)

    return lambda clients: asyncio.run(run(clients))


async def all_devices(fleet: AsyncRouterfleet) -> list[types.Device]:
    return [device async for device in fleet.list_devices(tag=["bus", "night"])]


async def all_pages(fleet: AsyncRouterfleet) -> list[types.ListedDevicePage]:
    return [page async for page in fleet.list_devices().pages()]


async def all_lines(fleet: AsyncRouterfleet) -> list[str]:
    return [line async for line in fleet.export_devices(format="csv").lines()]


BODY: types.CreateOrganizationRequest = {"name": "Zürich"}
create = pytest.mark.parametrize(
    "create",
    [lambda clients: clients.fleet.create_organization(BODY), awaited(lambda fleet: fleet.create_organization(BODY))],
    ids=["sync", "async"],
)
get = pytest.mark.parametrize(
    "get",
    [lambda clients: clients.fleet.get_device(UUID), awaited(lambda fleet: fleet.get_device(UUID))],
    ids=["sync", "async"],
)


@create
def test_a_post_is_repeated_with_the_same_key_and_body_until_it_succeeds(create: Action) -> None:
    service = Unsteady(CUT, answer(503, {}, retry_after="2"), answer(429, {}), answer(201, {"id": "1"}))
    clients = Clients(service)
    assert create(clients)["id"] == "1"
    assert len(service.received) == 4
    assert len({request.headers["idempotency-key"] for request in service.received}) == 1
    assert {request.content for request in service.received} == {'{"name":"Zürich"}'.encode()}
    assert {request.headers["authorization"] for request in service.received} == {"Bearer flk_1"}
    assert clients.waits[1] == 2
    assert 0.125 <= clients.waits[0] <= 0.25
    assert 0.5 <= clients.waits[2] <= 1


def test_two_posts_have_different_keys_unless_the_caller_gives_one() -> None:
    service = Unsteady(answer(201, {}))
    fleet = Clients(service).fleet
    fleet.create_organization(BODY)
    fleet.create_organization(BODY)
    fleet.create_organization(BODY, idempotency_key="mine")
    first, second, third = (request.headers["idempotency-key"] for request in service.received)
    assert first != second
    assert third == "mine"


@get
def test_a_read_is_repeated_at_most_as_often_as_set(get: Action) -> None:
    service = Unsteady(CUT)
    with pytest.raises(httpx.ConnectError):
        get(Clients(service, attempts=3))
    assert len(service.received) == 3
    assert all("idempotency-key" not in request.headers for request in service.received)


@pytest.mark.parametrize("status", [400, 404, 409, 500, 501])
@get
def test_other_errors_are_not_repeated(get: Action, status: int) -> None:
    service = Unsteady(answer(status, {}))
    with pytest.raises(ProblemError):
        get(Clients(service))
    assert len(service.received) == 1


def test_retry_after_can_be_a_date_and_is_limited() -> None:
    soon = datetime.now(timezone.utc) + timedelta(seconds=9)
    dates = [soon, soon - timedelta(days=1), soon + timedelta(days=1)]
    headers = [f"{date:%a, %d %b %Y %H:%M:%S} GMT" for date in dates] + ["3600", "soon"]
    for header, (least, most) in zip(headers, [(7, 9), (0, 0), (30, 30), (30, 30), (0.125, 0.25)], strict=True):
        clients = Clients(Unsteady(answer(503, {}, retry_after=header), answer(200, {})))
        clients.fleet.get_device(UUID)
        assert least <= clients.waits[0] <= most, header


@get
def test_a_problem_document_becomes_an_error(get: Action) -> None:
    problem = {
        "type": "about:blank",
        "title": "Bad request",
        "status": 400,
        "detail": "The quota of 5 is reached.",
        "code": "device_quota_exceeded",
        "requestId": "r-1",
        "errors": [{"pointer": "/name", "code": "too_long", "detail": "At most 200 characters."}],
        "limit": 5,
    }
    with pytest.raises(ProblemError, match=r"The quota of 5 is reached\.") as raised:
        get(Clients(Unsteady(answer(400, problem))))
    for error in (raised.value, pickle.loads(pickle.dumps(raised.value))):
        named = (error.type, error.title, error.status, error.detail, error.code, error.request_id, error.errors)
        assert named == tuple(problem.values())[:7]
        assert error.problem == problem


@get
def test_the_answer_of_a_proxy_becomes_an_error_too(get: Action) -> None:
    service = Unsteady(httpx.Response(502, content=b"<html>Bad gateway</html>"))
    with pytest.raises(ProblemError, match=r"The service returned status 502\.") as raised:
        get(Clients(service, attempts=2))
    assert (raised.value.status, raised.value.code) == (502, "unknown")
    assert len(service.received) == 2


@pytest.mark.parametrize(
    "read",
    [lambda clients: list(clients.fleet.list_devices(tag=["bus", "night"])), awaited(all_devices)],
    ids=["sync", "async"],
)
def test_a_list_reads_page_after_page_with_the_same_filter(read: Action) -> None:
    service = Unsteady(
        answer(200, {"items": [{"serial": "A"}, {"serial": "B"}], "nextCursor": "next"}),
        answer(200, {"items": [], "nextCursor": "last"}),
        answer(200, {"items": [{"serial": "C"}], "nextCursor": None}),
    )
    assert [device["serial"] for device in read(Clients(service))] == ["A", "B", "C"]
    first = "/devices?tag=bus&tag=night"
    assert service.paths == [first, f"{first}&cursor=next", f"{first}&cursor=last"]


@pytest.mark.parametrize(
    "read", [lambda clients: list(clients.fleet.list_devices().pages()), awaited(all_pages)], ids=["sync", "async"]
)
def test_pages_have_what_a_list_says_besides_its_items(read: Action) -> None:
    pages = [{"items": [], "nextCursor": "2", "total": 3}, {"items": [], "nextCursor": None, "total": 3}]
    assert read(Clients(Unsteady(*(answer(200, page) for page in pages)))) == pages


def test_a_list_that_is_left_early_reads_no_further_page() -> None:
    service = Unsteady(answer(200, {"items": [{"serial": "A"}], "nextCursor": "2"}))
    listing = Clients(service).fleet.list_devices(cursor="1")
    assert next(iter(listing))["serial"] == "A"
    assert listing.first_page()["nextCursor"] == "2"
    assert service.paths == ["/devices?cursor=1"] * 2


def test_parameters_are_sent_as_the_service_reads_them() -> None:
    service = Unsteady(answer(200, {"items": [], "nextCursor": None}))
    fleet = Clients(service).fleet
    zone = timezone(timedelta(hours=2))
    fleet.get_telemetry_history("a/b?", UUID, from_=datetime(2026, 5, 4, 14, 30, tzinfo=zone), limit=5).first_page()
    fleet.list_platform_sessions(platform=True).first_page()
    fleet.list_devices(tag="bus").first_page()
    fleet.update_device(UUID, {"name": "Bus"}, if_match='"1"')
    assert service.paths == [
        f"/api/a%2Fb%3F/{UUID}/telemetry/history?from=2026-05-04T12%3A30%3A00.000Z&limit=5",
        "/sessions?platform=true",
        "/devices?tag=bus",
        f"/devices/{UUID}",
    ]
    assert service.received[3].headers["if-match"] == '"1"'
    with pytest.raises(ValueError, match="needs a time zone"):
        fleet.get_telemetry_history("router", UUID, to=datetime(2026, 5, 4)).first_page()


def test_answers_without_a_body_are_none() -> None:
    fleet = Clients(Unsteady(answer(204), answer(304), answer(204))).fleet
    assert fleet.get_next_job() is None
    assert fleet.get_device(UUID, if_none_match='"1"') is None
    fleet.delete_device(UUID)


def test_bodies_that_are_not_json_are_sent_as_they_are_and_the_key_only_where_it_belongs() -> None:
    service = Unsteady(answer(200, {}))
    fleet = Clients(service).fleet
    fleet.import_devices("serial,name\n", content_type="text/csv", org_id=UUID)
    fleet.create_access_token({"grant_type": "client_credentials", "client_id": "flk", "client_secret": "s e"})
    imported, token = service.received
    assert (imported.content, imported.headers["content-type"]) == (b"serial,name\n", "text/csv")
    assert token.content == b"grant_type=client_credentials&client_id=flk&client_secret=s+e"
    assert ("authorization" in imported.headers, "authorization" in token.headers) == (True, False)


@pytest.mark.parametrize(
    "read",
    [lambda clients: list(clients.fleet.export_devices(format="csv").lines()), awaited(all_lines)],
    ids=["sync", "async"],
)
def test_a_file_is_read_line_by_line_after_a_repetition(read: Action) -> None:
    service = Unsteady(answer(503, {}), httpx.Response(200, content=b"serial\nA\nB\n"))
    assert read(Clients(service)) == ["serial", "A", "B"]


def test_a_file_is_read_or_saved_and_can_fail(tmp_path: Path) -> None:
    service = Unsteady(*[httpx.Response(200, content=b"serial\n")] * 3, answer(404, {"code": "not_found"}))
    export = Clients(service).fleet.export_devices()
    assert service.received == []
    assert export.read() == b"".join(export.chunks()) == b"serial\n"
    export.save(tmp_path / "devices.csv")
    assert (tmp_path / "devices.csv").read_bytes() == b"serial\n"
    with pytest.raises(ProblemError, match="404"):
        export.save(tmp_path / "missing.csv")
    assert not (tmp_path / "missing.csv").exists()


def test_a_request_of_your_own_has_headers() -> None:
    service = Unsteady(answer(200, {}, etag='"7"'))
    response = Clients(service).fleet.request("GET", f"/devices/{UUID}", query={"all": True})
    assert response.headers["etag"] == '"7"'
    assert service.paths == [f"/devices/{UUID}?all=true"]


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_waiting_for_a_batch_reports_each_change(is_async: bool) -> None:
    def batch(status: str, succeeded: int) -> httpx.Response:
        return answer(200, {"status": status, "counts": {"succeeded": succeeded}})

    seen: list[int] = []

    def on_progress(batch: types.JobBatch) -> None:
        seen.append(batch["counts"]["succeeded"])

    def wait(*answers: httpx.Response, timeout_s: float | None = None) -> types.JobBatch:
        clients = Clients(Unsteady(*answers))
        if not is_async:
            return clients.fleet.wait_for_batch("o", "b", on_progress=on_progress, timeout_s=timeout_s)
        waiting = clients.async_fleet.wait_for_batch("o", "b", on_progress=on_progress, timeout_s=timeout_s)
        return asyncio.run(waiting)

    ended = wait(batch("running", 0), batch("running", 0), batch("running", 1), batch("finished", 2))
    assert ended["status"] == "finished"
    assert seen == [0, 1, 2]
    with pytest.raises(TimeoutError):
        wait(batch("running", 0), timeout_s=0)


def test_the_key_is_not_shown() -> None:
    fleet = Clients(Unsteady(answer(200, {}))).fleet
    assert "flk_1" not in repr(vars(fleet))
