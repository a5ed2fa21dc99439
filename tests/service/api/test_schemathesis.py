"""Generated requests against the document: no server error, nothing that it does not describe."""

import asyncio
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.service.api.api_fixture import ApiFixture

pytestmark = pytest.mark.timeout(600)

ENDLESS = (
    "/api/v1/events",
    "/api/v1/applications/{id}/logs",
    "/api/v1/applications/{id}/events/stream",
)
CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)
AWAY = {502, 503, 504}
EXAMPLES = 8


async def seeded(api: ApiFixture) -> dict[str, str]:
    agent = await api.agent("prod", heard_at=None, state="created")
    other = await api.person("viewer")
    return {
        "agents": agent,
        "applications": await api.application(agent, "shop"),
        "organisations": api.organisation,
        "projects": api.project,
        "principals": other.id,
        "roles": api.roles[api.account + "viewer"],
    }


def attack(operation: Any, ids: dict[str, str], base: str, token: str) -> int:
    """How many requests were sent."""
    sent = 0

    @given(case=operation.as_strategy())
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    def run(case: Any) -> None:
        nonlocal sent
        sent += 1
        noun = case.path.removeprefix("/api/v1/").split("/")[0]
        if "id" in case.path_parameters and case.method != "DELETE" and sent % 2:
            case.path_parameters["id"] = ids.get(noun, "none")
        response = case.call(base_url=base, headers={"Authorization": f"Bearer {token}"})
        if response.status_code not in AWAY:
            case.validate_response(response, checks=list(CHECKS))

    run()
    return sent


async def test_the_service_keeps_to_its_document(api: ApiFixture) -> None:
    api.buckets.rate = api.buckets.burst = 1e6
    admin, ids = await api.person("administrator"), await seeded(api)
    document = (await admin.get("/openapi.json")).body
    schema = schemathesis.openapi.from_dict(document)
    sent = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path not in ENDLESS:
            sent += await asyncio.to_thread(attack, operation, ids, api.origin, admin.token)
    assert sent > 100
    assert (await admin.get("/audit/verify")).body["ok"]
