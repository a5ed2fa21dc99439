"""The dashboard's fixtures have no field that a real agent and a real service do not give.

The same questions are asked of both: of the service that a real agent reports to, with applications
in every kind of trouble, and of the fixture service of web/fixtures, which shows what
`playground.record_fixtures` recorded. What the second answers may have fewer fields than the
first, and no others: a recording that an older agent made is found here.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from agent.loopback import free_port
from bus.events import (
    Compared,
    HealthAssessed,
    ManifestsRendered,
    OperationFinished,
    OperationStarted,
    ResourcesApplied,
    RevisionResolved,
)
from bus.status import Cause
from service.api.routes import table
from service.http.openapi import document
from tests.flows.agent_fixture import AgentFixture, config_map
from tests.flows.fake_service_link import AUTOMATED
from tests.flows.linked_agent import LinkedAgent, open_linked_agent
from tests.paths import REPOSITORY
from tests.support import eventually

_DOCUMENT: Any = msgspec.to_builtins(document(table()))
_FACT_FIELDS = {
    f"items[].body.{field}"
    for fact in (
        Compared,
        HealthAssessed,
        ManifestsRendered,
        OperationFinished,
        OperationStarted,
        ResourcesApplied,
        RevisionResolved,
    )
    for field in fact.__struct_fields__
} | {f"items[].body.cause.{field}" for field in Cause.__struct_fields__}
"""Of what the registry knows: a default is left out on the wire, so a run need not show it."""
WEB = REPOSITORY / "web"
Ask = Callable[[str], Awaitable[Any]]

OPEN = ("labels", "annotations", "health", "spec", "live", "desired", "allowed", "kinds")
"""Fields whose keys are data: names of labels, of health states, of an object's own fields."""
OF_ALL = ("/fleet", "/applications", "/agents", "/timeline")
OF_EACH = ("", "/tree", "/history", "/pushes", "/diff", "/timeline")

BROKEN = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web, playground/fail: "true"}
      annotations: {playground/reason: ImagePullBackOff}
    spec: {containers: [{name: main, image: "web:9"}]}
"""
EDITED = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: edited}
spec:
  replicas: 1
  selector: {matchLabels: {app: edited}}
  template:
    metadata: {labels: {app: edited}}
    spec: {containers: [{name: main, image: "web:9"}]}
"""
REFUSED = BROKEN.replace("spec:\n  selector", 'spec:\n  replicas: "three"\n  selector', 1)
RETRIED = {"syncPolicy": {"automated": {}, "retry": {"limit": 5, "backoff": {"duration": "60s"}}}}

REFRESHED = {"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}}


@pytest.fixture
async def linked_agent(
    stopped_agent: AgentFixture, database_url: str, tmp_path: Path
) -> AsyncIterator[LinkedAgent]:
    async with open_linked_agent(stopped_agent, database_url, tmp_path) as linked_agent:
        yield linked_agent


async def test_fixtures_have_no_field_that_only_fixtures_have(linked_agent: LinkedAgent) -> None:
    await troubled(linked_agent)
    real = await paths_of(lambda path: linked_agent.admin.call("GET", path))
    async with fixture_service() as ask:
        made = await paths_of(ask)
    only = {where: sorted(made[where] - real[where] - typed(where)) for where in made}
    assert not any(only.values()), "\n".join(f"{where}: {it}" for where, it in only.items() if it)


async def troubled(linked_agent: LinkedAgent) -> None:
    """Pods that cannot start, a push that is refused, a source that is no YAML, nothing synced."""
    agent = linked_agent.agent
    agent.commit(
        {
            "stuck/deployment.yaml": BROKEN,
            "failing/settings.yaml": config_map("failing", a="1"),
            "broken/broken.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: [\n",
            "manual/settings.yaml": config_map("manual", a="1"),
            "edited/deployment.yaml": EDITED,
        }
    )
    await agent.apply_app("stuck", "stuck", **AUTOMATED)
    await agent.apply_app("failing", "failing", **RETRIED)
    await agent.apply_app("broken", "broken", **AUTOMATED)
    await agent.apply_app("manual", "manual")
    await edited_by_hand(linked_agent)
    await agent.until_synced("failing")
    agent.commit({"failing/deployment.yaml": REFUSED.replace("web", "other")})
    await agent.patch_app("failing", REFRESHED)
    expected = {"Stuck", "SyncFailed", "Unreadable", "Missing"}

    async def seen() -> bool:
        found = await linked_agent.admin.items("/applications")
        reported = {it["name"]: it["attention"] for it in found}
        assert set(reported.values()) >= expected, reported
        return True

    await eventually(seen, within=120)


async def edited_by_hand(linked_agent: LinkedAgent) -> None:
    """Synced by a person, and changed in the cluster afterwards."""
    agent = linked_agent.agent
    await agent.apply_app("edited", "edited", syncPolicy={"syncOptions": ["CreateNamespace=true"]})

    async def reported() -> str:
        found = await linked_agent.admin.items("/applications")
        return next((str(it["id"]) for it in found if it["name"] == "edited" and it["sync"]), "")

    await eventually(reported, within=120)
    await linked_agent.admin.order(
        "POST", f"/applications/{await reported()}/sync", {"prune": True}
    )
    await agent.until_synced("edited")
    path = f"/apis/apps/v1/namespaces/{agent.destination}/deployments/edited"
    await agent.api.patch(path, {"spec": {"replicas": 3}})
    await agent.until(lambda app: app["status"]["sync"]["status"] == "OutOfSync", app="edited")


async def paths_of(ask: Ask) -> dict[str, set[str]]:
    """By question: the paths of all fields of all answers."""
    found = {path: set(paths(await ask(path))) for path in OF_ALL}
    ids = [it["id"] for it in (await ask("/applications"))["items"]]
    for tail in OF_EACH:
        answers = [await answered(ask, f"/applications/{id_}{tail}") for id_ in ids[:7]]
        found[f"/applications/ID{tail}"] = {path for it in answers for path in paths(it)}
    return found


async def answered(ask: Ask, path: str) -> Any:
    """What cannot be rendered has no diff: a refusal has no fields to compare."""
    try:
        return await ask(path)
    except AssertionError as refusal:
        if ": 404 " not in str(refusal):
            raise
        return {}


def typed(where: str) -> set[str]:
    """Paths that the schema of the answer names: what was null in this run is typed all the same.

    A field that is an open object there (a status, the body of a fact) names none of its own.
    """
    path = "/api/v1" + where.replace("ID", "{id}")
    answer = _DOCUMENT["paths"][path]["get"]["responses"]["200"]
    found = set(_schema_paths(answer["content"]["application/json"]["schema"], ""))
    return found | (_FACT_FIELDS if where.endswith("/timeline") else set())


def _schema_paths(schema: Mapping[str, Any], path: str) -> Iterator[str]:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        yield from _schema_paths(_DOCUMENT["components"]["schemas"][name], path)
    for one in schema.get("anyOf", ()):
        yield from _schema_paths(one, path)
    if "items" in schema:
        yield from _schema_paths(schema["items"], f"{path}[]")
    for name, inner in schema.get("properties", {}).items():
        here = f"{path}.{name}".lstrip(".")
        yield here
        yield from _schema_paths(inner, here)


def paths(value: Any, path: str = "") -> Iterator[str]:
    """`items[].running.commit.author`; keys that are data are left out."""
    if isinstance(value, Mapping):
        if path.rpartition(".")[2] in OPEN and "status" not in value:
            return
        for name, inner in value.items():
            here = f"{path}.{name}".lstrip(".")
            yield here
            yield from paths(inner, here)
    elif isinstance(value, list):
        for inner in value:
            yield from paths(inner, f"{path}[]")


@asynccontextmanager
async def fixture_service() -> AsyncIterator[Ask]:
    node = shutil.which("node")
    assert node, "the fixture service needs Node.js on PATH"
    port = free_port()
    program = await asyncio.create_subprocess_exec(
        node, "fixtures/serve.mjs", "12", str(port), cwd=WEB
    )
    try:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as http:

            async def ask(path: str) -> Any:
                async with http.get(f"/api/v1{path}") as response:
                    assert response.status == 200, (
                        f"{path}: {response.status} {await response.text()}"
                    )
                    return await response.json()

            await eventually(lambda: answers(http), within=120, what="the fixture service")
            yield ask
    finally:
        program.terminate()
        await program.wait()


async def answers(http: aiohttp.ClientSession) -> bool:
    try:
        async with http.get("/api/v1/fleet") as response:
            return response.status == 200
    except aiohttp.ClientError:
        return False
