"""Every route by every role: the table below is written by hand and has to name every route."""

import re
from dataclasses import dataclass

import pytest
from aiohttp import ClientTimeout

from service.api.routes import table
from service.wiring import public_application
from tests.service.api.api_fixture import API, ApiFixture, ApiPerson

PUBLIC, ANY, VIEW, SYNC, EDIT, ADMIN = "public", "any", "viewer", "deployer", "editor", "admin"
MAY = {
    VIEW: {"viewer", "deployer", "editor", "administrator"},
    SYNC: {"deployer", "editor", "administrator"},
    EDIT: {"editor", "administrator"},
    ADMIN: {"administrator"},
    "session": set[str](),
}
"""Who may by token; `session`: nobody, it takes a login with a password."""
ROUTES = """
public  POST /login
any     GET /openapi.json
any     GET /docs
any     POST /logout
any     GET /me
any     POST /me/password
any     GET /me/sessions
session DELETE /me/sessions
session DELETE /me/sessions/{id}
viewer  GET /fleet
viewer  GET /applications
editor  POST /applications
viewer  GET /applications/{id}
editor  PUT /applications/{id}
editor  DELETE /applications/{id}
viewer  GET /applications/{id}/links
viewer  GET /applications/{id}/sync-windows
viewer  GET /applications/{id}/tree
viewer  GET /applications/{id}/manifests
viewer  GET /applications/{id}/diff
viewer  GET /applications/{id}/live
viewer  GET /applications/{id}/actions
editor  POST /applications/{id}/actions
editor  POST /applications/{id}/actions/preview
editor  POST /applications/{id}/objects/edit
editor  POST /applications/{id}/objects/edit/preview
editor  POST /applications/{id}/objects/delete
editor  POST /applications/{id}/objects/delete/preview
viewer  GET /applications/{id}/events
viewer  GET /applications/{id}/events/stream
viewer  GET /applications/{id}/logs
admin   GET /applications/{id}/exec
viewer  GET /applications/{id}/history
viewer  GET /applications/{id}/pushes
deployer POST /applications/{id}/sync
deployer POST /applications/{id}/sync/preview
deployer POST /applications/{id}/rollback/preview
deployer POST /applications/{id}/refresh
deployer POST /applications/{id}/terminate
deployer POST /applications/{id}/rollback
editor  POST /applications/{id}/confirm-deletion
deployer POST /applications/bulk/sync
deployer POST /applications/bulk/refresh
any     GET /tasks
any     GET /tasks/{id}
any     POST /tasks/{id}/cancel
viewer  GET /agents
editor  POST /agents
viewer  GET /agents/{id}
editor  PATCH /agents/{id}
editor  DELETE /agents/{id}
viewer  GET /agents/{id}/manifest
viewer  GET /agents/{id}/sealing-key
editor  POST /agents/{id}/enrolment-token
editor  POST /agents/{id}/revoke
editor  POST /agents/{id}/rebuild
editor  POST /agents/{id}/deletions/accept
editor  POST /agents/{id}/epochs/{epoch}/accept
editor  POST /agents/{id}/epochs/{epoch}/reject
viewer  GET /repositories
editor  POST /repositories
viewer  GET /repositories/{id}
editor  DELETE /repositories/{id}
viewer  GET /repositories/{id}/refs
viewer  GET /repository-credentials
editor  POST /repository-credentials
viewer  GET /repository-credentials/{id}
editor  DELETE /repository-credentials/{id}
viewer  GET /clusters
editor  POST /clusters
viewer  GET /clusters/{id}
editor  DELETE /clusters/{id}
viewer  GET /certificates
editor  POST /certificates
viewer  GET /certificates/{id}
editor  DELETE /certificates/{id}
viewer  GET /keys
editor  POST /keys
viewer  GET /keys/{id}
editor  DELETE /keys/{id}
viewer  GET /appprojects
editor  POST /appprojects
viewer  GET /appprojects/{id}
viewer  GET /appprojects/{id}/links
viewer  GET /appprojects/{id}/sync-windows
editor  PUT /appprojects/{id}
editor  DELETE /appprojects/{id}
admin   GET /audit
admin   GET /audit/export
admin   GET /audit/verify
any     GET /filters
any     POST /filters
any     DELETE /filters/{id}
any     GET /organisations
admin   POST /organisations
any     GET /organisations/{id}
admin   PATCH /organisations/{id}
admin   DELETE /organisations/{id}
any     GET /projects
admin   POST /projects
any     GET /projects/{id}
admin   PATCH /projects/{id}
admin   DELETE /projects/{id}
admin   GET /principals
admin   POST /principals
admin   GET /principals/{id}
admin   PATCH /principals/{id}
admin   DELETE /principals/{id}
any     GET /principals/{id}/tokens
any     POST /principals/{id}/tokens
any     DELETE /principals/{id}/tokens/{token}
admin   GET /roles
admin   POST /roles
admin   GET /roles/{id}
admin   PATCH /roles/{id}
admin   DELETE /roles/{id}
admin   GET /resource-groups
admin   POST /resource-groups
admin   GET /resource-groups/{id}
admin   PATCH /resource-groups/{id}
admin   DELETE /resource-groups/{id}
admin   GET /bindings
admin   POST /bindings
admin   DELETE /bindings/{id}
any     GET /events
viewer  GET /timeline
viewer  GET /timeline/at
viewer  GET /applications/{id}/timeline
viewer  GET /drifts
viewer  GET /drifts/minutes
viewer  GET /instances
viewer  GET /services
viewer  GET /environments
admin   GET /webhooks
admin   POST /webhooks
admin   GET /webhooks/{id}
admin   PATCH /webhooks/{id}
admin   DELETE /webhooks/{id}
admin   GET /webhooks/{id}/deliveries
admin   POST /webhooks/{id}/deliveries/{delivery}/retry
"""
OUTSIDE = {
    "/healthz",
    "/api/v1/link",
    "/api/v1/link/enrol",
    "/api/v1/link/challenge",
    "/api/v1/link/session",
    "/{path}",
}
"""Not of the API: probes, what agents dial (a door of its own), and the dashboard's files."""


@dataclass(frozen=True)
class ProtectedRoute:
    needs: str
    method: str
    path: str


QUERIES = {
    "/applications/{id}/actions": "?kind=P&name=x",
    "/applications/{id}/live": "?kind=P&name=x",
    "/applications/{id}/logs": "?pod=x",
    "/applications/{id}/exec": "?pod=x&namespace=y",
    "/events": "?unknown=1",
    "/timeline/at": "?time=2026-01-01T00:00:00Z",
}
"""What a route cannot do without; the stream of events is refused when it is reached."""
LISTED = [ProtectedRoute(*line.split()) for line in ROUTES.strip().splitlines()]


def test_the_table_names_every_route() -> None:
    here = {(it.method, it.path) for it in LISTED}
    own = {(it.method, it.path) for it in table()}
    assert own == here


def test_the_service_has_no_route_beside_the_api_but_these(api: ApiFixture) -> None:
    served = {it.canonical for it in public_application(api.dependencies).router.resources()}
    assert served - {f"{API}{it.path}" for it in LISTED} == OUTSIDE


def concrete(api: ApiFixture, route: ProtectedRoute, application: str, agent: str) -> str:
    """Ids that exist where there can be one, so that 404 does not hide a 403."""
    first = route.path.split("/")[1]
    ids = {
        "applications": application,
        "agents": agent,
        "organisations": api.organisation,
        "projects": api.project,
        "roles": api.roles[api.account + "viewer"],
    }
    path = route.path.replace("{id}", ids.get(first, "none"))
    path = re.sub(r"{\w+}", "none", path)
    return path + QUERIES.get(route.path, "")


async def statuses(api: ApiFixture, person: ApiPerson) -> dict[tuple[str, str], int]:
    """Bodies that are refused (422) if they get that far: only who may gets that far."""
    agent = await api.agent(f"agent-{person.name}"[:50], heard_at=None, state="created")
    application = await api.application(agent, "shop")
    found = {}
    for route in LISTED:
        if route.path == "/logout":
            continue
        path = concrete(api, route, application, agent)
        body = {"unknown": 1} if route.method in ("POST", "PUT", "PATCH") else None
        if route.method == "DELETE":
            path = path.replace(application, "none").replace(agent, "none")
            path = path.replace(api.project, "none").replace(api.organisation, "none")
        answer = await person.call(route.method, path, body)
        found[route.method, route.path] = answer.status
    return found


@pytest.mark.parametrize("role", ["viewer", "deployer", "editor", "administrator"])
async def test_a_role_reaches_its_routes_and_no_other(api: ApiFixture, role: str) -> None:
    found = await statuses(api, await api.person(role))
    for route in LISTED:
        status = found.get((route.method, route.path), 0)
        if role in MAY.get(route.needs, {role}):
            assert status not in (401, 403, 500), (route, status)
        else:
            assert status == 403, (route, status)


async def test_a_principal_without_a_role_reaches_nothing(api: ApiFixture) -> None:
    found = await statuses(api, await api.person(""))
    for route in LISTED:
        if route.needs not in (PUBLIC, ANY):
            assert found[route.method, route.path] == 403, route
    nobody = await api.person("")
    for path in ("/organisations", "/projects", "/tasks", "/filters"):
        assert (await nobody.get(path)).body["items"] == []


async def test_the_administrator_of_another_account_finds_nothing(api: ApiFixture) -> None:
    other = await api.make_account("other")
    stranger = await api.person("administrator", account=other)
    found = await statuses(api, stranger)
    for route in LISTED:
        if "{id}" in route.path and route.method == "GET":
            status = found[route.method, route.path]
            assert status == 404, (route, status)
    await api.application(await api.agent("prod"), "shop")
    for path in ("/applications", "/agents", "/organisations", "/projects", "/tasks"):
        assert (await stranger.get(path)).body["items"] == []


@pytest.mark.parametrize("how", ["none", "expired", "revoked", "unknown"])
async def test_without_a_valid_token_no_route_answers(api: ApiFixture, how: str) -> None:
    admin = await api.person("administrator")
    now = api.clock.now
    admin.token = {
        "none": "",
        "expired": await api.token(admin.id, expires_at=now),
        "revoked": await api.token(admin.id, revoked_at=now),
        "unknown": "gt_nobody",
    }[how]
    api.buckets.burst = 10_000
    found = await statuses(api, admin)
    for route in LISTED:
        if route.needs != PUBLIC and route.path != "/logout":
            assert found[route.method, route.path] == 401, route


async def test_a_limited_token_has_its_permissions_only(api: ApiFixture) -> None:
    admin = await api.person("administrator")
    admin.token = await api.token(admin.id, permissions=["gitops_application_view"])
    assert (await admin.get("/applications")).status == 200
    assert (await admin.get("/agents")).status == 403
    assert (await admin.call("POST", "/roles", {"name": "x", "permissions": []})).status == 403


async def test_the_page_of_the_document_loads_nothing(api: ApiFixture) -> None:
    api.client._timeout = ClientTimeout(total=30)
    viewer = await api.person("viewer")
    page = (await viewer.get("/docs")).raw.decode()
    assert "/applications/{id}/sync" in page
    assert "http://" not in page.replace("http://json-schema", "")
    assert "<script" not in page
    body = (await viewer.get("/openapi.json")).body
    assert body["openapi"] == "3.1.0"
    assert body["paths"]["/api/v1/agents/{id}"]["get"]["description"].endswith("`.")
