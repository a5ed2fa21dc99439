"""Organisations, projects, roles, groups: made, changed on what was seen, deleted; all audited."""

from typing import Any

import pytest

from tests.service.api.api_fixture import ApiFixture

NOUNS: tuple[tuple[str, str, dict[str, Any], dict[str, Any]], ...] = (
    ("organisations", "organisation", {"displayName": "Before"}, {"displayName": "After"}),
    ("projects", "project", {"appProjects": ["a"]}, {"appProjects": ["a", "b"]}),
    (
        "roles",
        "role",
        {"permissions": ["gitops_agent_view"]},
        {"permissions": ["gitops_agent_edit", "gitops_agent_view"]},
    ),
    ("resource-groups", "group", {"labels": {"team": "a"}}, {"labels": {"team": "b"}}),
)
IDS = [noun[1] for noun in NOUNS]


def body(api: ApiFixture, path: str, values: dict[str, Any]) -> dict[str, Any]:
    where = {"organisation": api.organisation} if path == "projects" else {}
    return {"name": "mine", **where, **values}


@pytest.mark.parametrize(("path", "word", "before", "after"), NOUNS, ids=IDS)
async def test_a_noun_is_made_changed_on_what_was_seen_and_deleted(
    api: ApiFixture, path: str, word: str, before: dict[str, Any], after: dict[str, Any]
) -> None:
    admin = await api.person("administrator")
    made = await admin.call("POST", f"/{path}", body(api, path, before))
    assert (made.status, made.body["version"], made.body["name"]) == (201, 1, "mine")
    assert before.items() <= made.body.items()
    assert made.body["createdAt"].endswith("Z")
    one = f"/{path}/{made.body['id']}"
    tag = (await admin.get(one)).headers["ETag"]
    assert (await admin.call("PATCH", one, after)).status == 428
    changed = await admin.call("PATCH", one, after, {"If-Match": tag})
    assert (changed.status, changed.body["version"]) == (200, 2)
    assert after.items() <= changed.body.items()
    assert (await admin.call("PATCH", one, before, {"If-Match": tag})).status == 412
    assert (await admin.call("DELETE", one)).status == 204
    assert (await admin.get(one)).status == 404
    again = await admin.call("DELETE", one)
    assert again.status == 404
    records = [it for it in await api.rows("audit") if it.resource == f"{word}/mine"]
    verbs = ["created", "changed", "deleted"]
    assert [it.action for it in records] == [f"{word}.{verb}" for verb in verbs]
    assert {it.actor for it in records} == {admin.name}


@pytest.mark.parametrize(("path", "word", "before", "after"), NOUNS, ids=IDS)
async def test_the_audit_says_what_was_and_what_is(
    api: ApiFixture, path: str, word: str, before: dict[str, Any], after: dict[str, Any]
) -> None:
    admin = await api.person("administrator")
    made = await admin.call("POST", f"/{path}", body(api, path, before))
    await admin.call("PATCH", f"/{path}/{made.body['id']}", {**after, "version": 1})
    (record,) = [it for it in await api.rows("audit") if it.action == f"{word}.changed"]
    ((_, was),), ((_, is_),) = (before.items(), after.items())
    assert str(was) in str(record.detail)
    assert str(is_) in str(record.detail)


@pytest.mark.parametrize(("path", "word", "before", "after"), NOUNS, ids=IDS)
async def test_a_name_is_taken_once(
    api: ApiFixture, path: str, word: str, before: dict[str, Any], after: dict[str, Any]
) -> None:
    admin = await api.person("administrator")
    assert (await admin.call("POST", f"/{path}", body(api, path, before))).status == 201
    assert (await admin.call("POST", f"/{path}", body(api, path, after))).status == 409
    made = [it for it in await api.rows("audit") if it.action == f"{word}.created"]
    assert len(made) == 1
