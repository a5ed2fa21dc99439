"""An agent deploys what is signed as the project demands, and nothing else by any way."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from bus.events import RenderFailed
from bus.status import Reason
from handlers.application.artifact_signers import ARTIFACT_SIGNERS
from playground.kubeapi import KubeApiError
from tests.flows.agent_fixture import AgentFixture, conditions, config_map
from tests.flows.evidence import facts
from tests.flows.test_projects import has_ended, limit
from tests.signers import SignedRepository, Signers
from tests.unit.agent.download.reader import answering
from tests.unit.agent.helm.test_provenance import ARCHIVE, INDEX, signed_text

AUTOMATED = {"automated": {"prune": True, "selfHeal": True}}
KEYS = "argocd-gpg-keys-cm"


async def trust(agent: AgentFixture, data: Mapping[str, str | None]) -> None:
    """As somebody with kubectl would; None removes a key."""
    path = f"/api/v1/namespaces/{agent.namespace}/configmaps"
    try:
        await agent.api.patch(f"{path}/{KEYS}", {"data": data})
    except KubeApiError as error:
        if error.code != 404:
            raise
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": KEYS}, "data": data}
        await agent.api.create(path, body)


async def demand(agent: AgentFixture, signers: Signers) -> None:
    await limit(agent, "signed", signatureKeys=[{"keyID": signers.good.id}])


def is_refused(app: dict[str, Any]) -> bool:
    return "is not proven" in conditions(app).get("ComparisonError", "")


async def test_nothing_unsigned_is_deployed_by_any_way(
    agent: AgentFixture, signers: Signers
) -> None:
    repository = SignedRepository(agent.repository, signers)
    await trust(agent, signers.listed)
    await limit(agent, "signed")
    before = repository.commit({"web/a.yaml": config_map("a", of="1")}, None)
    await agent.apply_app("web", "web", project="signed", syncPolicy=AUTOMATED)
    await agent.until_synced("web")

    await demand(agent, signers)
    await agent.until(is_refused, app="web")  # the project's change is heard
    signed = repository.commit({"web/a.yaml": config_map("a", of="2")}, signers.good)
    app = await agent.until_synced("web")
    assert (app["status"]["sync"]["revision"], conditions(app)) == (signed, {})

    bad = repository.commit({"web/b.yaml": config_map("b")}, None)
    app = await agent.until(is_refused, app="web")
    assert bad[:10] in conditions(app)["ComparisonError"]
    assert app["status"]["sync"]["status"] == "Unknown"

    # A sync by hand, of the newest commit and of the one that was deployed before.
    await agent.patch_app("web", {"spec": {"syncPolicy": None}})
    for revision in (bad, before):
        sync = {"sync": {"revision": revision}, "retry": {"limit": 5}}
        await agent.patch_app("web", {"operation": sync})

        def is_over(app: dict[str, Any], revision: str = revision) -> bool:
            state = app["status"].get("operationState", {})
            asked = state.get("operation", {}).get("sync", {}).get("revision")
            return has_ended(app) and asked == revision and "operation" not in app

        app = await agent.until(is_over, app="web")
        state = app["status"]["operationState"]
        assert (state["phase"], state.get("retryCount", 0)) == ("Error", 0)
        assert revision[:10] in state["message"]
    assert await agent.get("configmaps/b") is None
    found = await agent.get("configmaps/a")
    assert found is not None
    assert found["data"] == {"of": "2"}
    failed = await facts(agent.parts.bus, RenderFailed)
    unproven = [one.unproven for one in failed if one.reason is Reason.SOURCE_UNPROVEN]
    assert {bad, before} <= {one.commit for one in unproven if one is not None}


async def test_a_key_that_is_taken_back_ends_the_sync_that_is_under_way(
    agent: AgentFixture, signers: Signers
) -> None:
    repository = SignedRepository(agent.repository, signers)
    await trust(agent, signers.listed)
    await demand(agent, signers)
    kept = "metadata: {name: b, annotations: {argocd.argoproj.io/sync-options: Prune=confirm}}"
    confirmed = config_map("b").replace("metadata: {name: b}", kept)
    files = {"web/a.yaml": config_map("a", of="1"), "web/b.yaml": confirmed}
    repository.commit(files, signers.good)
    await agent.apply_app("web", "web", project="signed", syncPolicy=AUTOMATED)
    await agent.until_synced("web")
    repository.commit({"web/b.yaml": None}, signers.good)
    await agent.until(lambda it: _phase(it) == "Running", app="web")

    await trust(agent, {signers.good.id: None})
    app = await agent.until(lambda it: _phase(it) == "Error" and is_refused(it), app="web")
    assert "is not proven" in app["status"]["operationState"]["message"]
    assert await agent.get("configmaps/b") is not None

    await trust(agent, signers.listed)
    await agent.until(lambda it: not is_refused(it), app="web")


def _phase(app: dict[str, Any]) -> str:
    return str(app["status"].get("operationState", {}).get("phase", ""))


async def test_a_chart_is_deployed_with_a_provenance_file_of_a_named_key_only(
    agent: AgentFixture, signers: Signers
) -> None:
    messages = dict[str, bytes]()

    async def answer(request: web.Request) -> web.Response:
        name = request.path.rpartition("/")[2]
        if name == "index.yaml":
            return web.Response(text=INDEX)
        if name.endswith(".prov"):
            found = messages.get("web", b"")
            return web.Response(body=found, status=200 if found else 404)
        return web.Response(body=ARCHIVE)

    await trust(agent, signers.listed)
    await limit(agent, "charts")
    policy = {"repos": [{"url": "*"}], "gpg": [signers.good.id]}
    annotations = {ARTIFACT_SIGNERS: json.dumps({"policies": [policy]})}
    path = f"/apis/argoproj.io/v1alpha1/namespaces/{agent.namespace}/appprojects/charts"
    await agent.api.patch(path, {"metadata": {"annotations": annotations}})
    async with answering(answer) as url:
        source = {"repoURL": url, "chart": "web", "targetRevision": "1.0.0"}
        await agent.apply_app("web", "", project="charts", source=source, syncPolicy=AUTOMATED)
        app = await agent.until(is_refused, app="web")
        assert "there is no provenance file" in conditions(app)["ComparisonError"]

        messages["web"] = signers.gnupg.clear_sign(signed_text(), signers.good.fingerprint)
        refresh = {"argocd.argoproj.io/refresh": "normal"}
        await agent.patch_app("web", {"metadata": {"annotations": refresh}})
        await agent.until_synced("web")

        await trust(agent, {signers.good.id: None})
        app = await agent.until(is_refused, app="web")
        assert "a key that the agent does not know" in conditions(app)["ComparisonError"]
