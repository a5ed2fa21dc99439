"""What people send by mistake or on purpose: refused with field and rule, or carried unharmed."""

import asyncio
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import timedelta
from io import BytesIO

import pytest
from sqlalchemy import insert

from bus.identity import new_id
from service.audit.verification import parse, walk
from service.store import tables
from tests.service.api.api_fixture import ApiFixture

HOSTILE = [
    "'; DROP TABLE applications; --",
    '" OR 1=1 --',
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "{{7*7}} ${7*7} %s %(x)s \\",
    "\u202egnp.exe",
    "😀" * 40,
    "../../etc/passwd",
]


@pytest.mark.parametrize("text", HOSTILE)
async def test_sql_and_html_in_names_is_only_text(api: ApiFixture, text: str) -> None:
    admin = await api.person("administrator")
    saved = await admin.call("POST", "/filters", {"name": text, "query": text})
    assert (saved.status, saved.body["name"], saved.body["query"]) == (201, text, text)
    assert saved.headers["Content-Type"].startswith("application/json")
    assert saved.headers["X-Content-Type-Options"] == "nosniff"
    new = {"name": text, "displayName": text, "kind": "service"}
    made = await admin.call("POST", "/principals", new)
    assert (made.status, made.body["displayName"]) == (201, text)
    labels = {"labels": {text[:60]: text[:60]}}
    agent = await admin.call(
        "POST", "/agents", {"name": "prod", "environment": text[:60], **labels}
    )
    assert agent.body["labels"] == labels["labels"]
    await api.application(agent.body["id"], text, project=text[:60], **labels)
    (item,) = (await admin.get("/applications")).body["items"]
    assert item["name"] == text
    assert (await admin.call("GET", "/audit")).body["items"][0]["actor"] == admin.name


@pytest.mark.parametrize("text", HOSTILE)
async def test_sql_and_html_in_filters_finds_nothing_and_harms_nothing(
    api: ApiFixture, text: str
) -> None:
    admin = await api.person("administrator")
    await api.application(await api.agent("prod"), "shop")
    for field in ("search", "project", "environment", "health", "agent", "label", "service"):
        url = api.server.make_url("/api/v1/applications").with_query({field: text})
        headers = {"Authorization": f"Bearer {admin.token}"}
        async with api.client.get(url, headers=headers) as response:
            assert response.status == 200, (field, await response.text())
            assert (await response.json())["items"] == []
    assert len(await api.rows("applications")) == 1


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "field", "rule"),
    [
        ("POST", "/agents", {"name": "a", "colour": 1}, 422, "colour", "unknown-field"),
        ("POST", "/agents", {}, 422, "name", "type"),
        ("POST", "/agents", {"name": "UPPER"}, 422, "name", "type"),
        ("POST", "/agents", {"name": 7}, 422, "name", "type"),
        ("POST", "/agents", {"name": "a", "labels": {"x": 1}}, 422, "labels[...]", "type"),
        ("POST", "/agents", {"name": "a", "region": "a\0b"}, 400, "region", "text"),
        ("POST", "/agents", {"name": "a", "project": "none"}, 422, "project", "reference"),
        ("POST", "/agents", b"{", 415, "", "media-type"),
        ("GET", "/applications?limit=501", None, 422, "limit", "type"),
        ("GET", "/applications?limit=x", None, 422, "limit", "type"),
        ("GET", "/applications?sort=best", None, 422, "sort", "type"),
        ("GET", "/applications?colour=red", None, 422, "colour", "unknown-field"),
        ("GET", "/applications?search=a&search=b", None, 400, "search", "once"),
        ("GET", "/applications?search=%00", None, 400, "search", "text"),
        ("GET", "/applications?cursor=nonsense", None, 400, "cursor", "cursor"),
        ("GET", "/audit?since=yesterday", None, 422, "since", "type"),
    ],
)
async def test_a_refusal_names_field_and_rule(  # noqa: PLR0917  the columns of the table
    api: ApiFixture,
    method: str,
    path: str,
    body: object,
    status: int,
    field: str,
    rule: str,
) -> None:
    admin = await api.person("administrator")
    answer = await admin.call(method, path, body)
    assert answer.headers["Content-Type"].startswith("application/problem+json")
    found = (answer.status, answer.body.get("field", ""), answer.body["rule"])
    assert found == (status, field, rule), answer.body


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"name": "UPPER"}, "small letters, digits and hyphens"),
        ({"name": "a", "region": "r" * 300}, "at most"),
        ({"name": "prod"}, "there is one of this name already"),
    ],
)
async def test_a_refusal_says_what_is_wrong_and_what_to_do(
    api: ApiFixture, body: dict[str, str], message: str
) -> None:
    admin = await api.person("administrator")
    await api.agent("prod")
    answer = await admin.call("POST", "/agents", body)
    assert message in answer.body["detail"]
    assert "regex" not in answer.body["detail"]
    assert answer.body["remedy"]


async def test_a_body_over_a_mebibyte_is_refused(api: ApiFixture) -> None:
    admin = await api.person("administrator")
    large = BytesIO(b'{"name": "' + b"a" * (1 << 20) + b'"}')
    json = {"Content-Type": "application/json"}
    assert (await admin.call("POST", "/agents", large, json)).status == 413


async def test_a_deep_body_is_refused(api: ApiFixture) -> None:
    admin = await api.person("administrator")
    deep = b'{"labels": ' + b"[" * 5000 + b"]" * 5000 + b"}"
    json = {"Content-Type": "application/json"}
    assert (await admin.call("POST", "/agents", deep, json)).status == 400


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/nowhere", 404), ("PUT", "/me", 405)]
)
async def test_the_routers_own_errors_are_problems_too(
    api: ApiFixture, method: str, path: str, status: int
) -> None:
    answer = await api.call(method, path)
    assert (answer.status, answer.body["status"]) == (status, status)


async def test_ten_thousand_applications_are_paged_without_hole_or_double(
    api: ApiFixture,
) -> None:
    agent = await api.agent("prod")
    healths = ("Healthy", "Degraded", "Progressing")
    rows = [
        {
            "id": new_id(),
            "agent_id": agent,
            "account_id": api.account,
            "namespace": "argocd",
            "name": f"app-{number % 5000:05}",
            "project": "default" if number % 2 else "other",
            "sync": "Synced",
            "health": healths[number % 3],
            "as_of": api.clock() - timedelta(seconds=number % 7),
        }
        for number in range(10_000)
    ]
    for number, row in enumerate(rows):
        row["namespace"] = f"ns{number // 5000}"
    async with api.engine.begin() as connection:
        await connection.execute(insert(tables.applications), rows)
    viewer = await api.person("viewer", project_id=api.project)
    for sort in ("worst", "name", "changed"):
        seen: list[str] = []
        path = f"/applications?limit=500&sort={sort}"
        answer = await viewer.get(path)
        assert answer.body["total"] == 5000
        while True:
            seen += [it["id"] for it in answer.body["items"]]
            if answer.body["next"] is None:
                break
            answer = await viewer.get(f"{path}&cursor={answer.body['next']}")
            assert answer.status == 200, answer.body
        assert len(seen) == len(set(seen)) == 5000


async def test_a_cursor_fits_its_own_list_only(api: ApiFixture) -> None:
    agent = await api.agent("prod")
    for name in ("a", "b", "c"):
        await api.application(agent, name)
    viewer = await api.person("viewer")
    cursor = (await viewer.get("/applications?limit=1")).body["next"]
    assert (await viewer.get(f"/applications?limit=1&cursor={cursor}")).status == 200
    assert (await viewer.get(f"/applications?health=Healthy&cursor={cursor}")).status == 400
    assert (await viewer.get(f"/agents?cursor={cursor}")).status == 400
    assert (await viewer.get(f"/applications?cursor={cursor[:-4]}")).status == 400


@pytest.mark.parametrize("forged", [True, None, "x", [], {}, 1.5])
async def test_a_cursor_with_a_forged_key_is_refused(api: ApiFixture, forged: object) -> None:
    admin = await api.person("administrator")
    for name in ("one", "two"):
        assert (
            await admin.call(
                "POST", "/principals", {"name": name, "displayName": name, "kind": "service"}
            )
        ).status == 201
    newest = (await admin.get("/audit?limit=1")).body["next"]
    raw = urlsafe_b64decode(newest + "=" * (-len(newest) % 4))
    cursor = urlsafe_b64encode(raw[:12] + json.dumps([forged]).encode()).decode().rstrip("=")
    assert (await admin.get(f"/audit?limit=1&cursor={cursor}")).status == 400


async def test_the_worst_comes_first(api: ApiFixture) -> None:
    agent = await api.agent("prod")
    await api.application(agent, "a")
    await api.application(agent, "b", sync="OutOfSync")
    await api.application(agent, "c", health="Degraded", health_message="no image")
    viewer = await api.person("viewer")
    assert [it["name"] for it in (await viewer.get("/applications")).body["items"]] == [
        "c",
        "b",
        "a",
    ]
    fleet = (await viewer.get("/fleet")).body
    assert [it["application"]["name"] for it in fleet["needYou"]] == ["c", "b"]
    assert fleet["needYou"][0]["cause"] == "no image"
    assert fleet["counts"] == {
        "applications": 3,
        "outOfSync": 1,
        "health": {"Healthy": 2, "Degraded": 1},
    }
    (cell,) = fleet["cells"]
    assert (cell["agents"], cell["agentsConnected"]) == (1, 1)


async def test_the_api_shows_the_status_of_an_agent_by_the_time_since_its_last_frame(
    api: ApiFixture,
) -> None:
    await api.agent("prod")
    viewer = await api.person("viewer")
    seen = []
    for seconds in (0, 60, 120, 900):
        api.clock.on(seconds=seconds)
        seen.append((await viewer.get("/agents")).body["items"][0]["status"])
    assert seen == ["connected", "stale", "disconnected", "lost"]


async def test_writers_at_once_make_one_chain(api: ApiFixture) -> None:
    admin = await api.person("administrator")
    answers = await asyncio.gather(
        *(admin.call("POST", "/agents", {"name": f"a{number}"}) for number in range(20))
    )
    assert {it.status for it in answers} == {201}
    verdict = (await admin.get("/audit/verify")).body
    assert (verdict["ok"], verdict["entries"], verdict["brokenAt"]) == (True, 20, None)
    assert (verdict["signed"], verdict["anchors"], verdict["trimmed"]) == (True, 0, 0)


async def test_a_changed_record_is_found_and_a_change_is_refused(api: ApiFixture) -> None:
    admin = await api.person("administrator")
    for number in range(4):
        await admin.call("POST", "/agents", {"name": f"a{number}"})
    with pytest.raises(Exception, match="append-only"):
        async with api.engine.begin() as connection:
            await connection.exec_driver_sql("UPDATE audit SET actor = 'x' WHERE sequence = 2")
    async with api.engine.begin() as connection:
        await connection.exec_driver_sql("ALTER TABLE audit DISABLE TRIGGER ALL")
        await connection.exec_driver_sql("UPDATE audit SET actor = 'x' WHERE sequence = 2")
    verdict = (await admin.get("/audit/verify")).body
    assert (verdict["ok"], verdict["entries"], verdict["brokenAt"]) == (False, 1, 2)


async def test_the_export_can_be_verified_elsewhere(api: ApiFixture) -> None:
    admin = await api.person("administrator")
    for number in range(3):
        await admin.call("POST", "/agents", {"name": f"a{number}"})
    export = await admin.get("/audit/export")
    records = [parse(line) for line in export.raw.splitlines()]
    assert walk(records).intact
    assert [it.entry.action for it in records] == ["agent.created"] * 3 + ["audit.exported"]
    assert records[0].entry.actor == admin.name
    assert records[0].entry.address == "127.0.0.1"
