"""Sync options on a real API server: Force, approvals, shared objects, Namespace metadata."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from handlers.application.deletion_approval import DELETION_APPROVED
from playground.kubeapi import KubeApiError
from tests.flows.agent_fixture import AgentFixture, conditions, config_map, is_synced
from tests.flows.test_projects import limit
from tests.support import eventually

PRUNING = {"automated": {"prune": True, "selfHeal": True}}
FINALIZER = "resources-finalizer.argocd.argoproj.io"
LINK = "annotations: {link.argocd.argoproj.io/wiki: 'Wiki|https://wiki.example'}"
FORCE = "annotations: {argocd.argoproj.io/sync-options: Force=true}"


def with_options(manifest: str, options: str) -> str:
    note = f"annotations: {{argocd.argoproj.io/sync-options: '{options}'}}"
    return manifest.replace("metadata: {name:", f"metadata: {{{note}, name:")


def job(image: str) -> str:
    return f"""
apiVersion: batch/v1
kind: Job
metadata: {{name: migrate, {FORCE}}}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers: [{{name: main, image: "registry.example/migrate:{image}"}}]
"""


def service(address: str) -> str:
    return f"""
apiVersion: v1
kind: Service
metadata: {{name: web, {FORCE}}}
spec: {{{address}selector: {{app: web}}, ports: [{{port: 80}}]}}
"""


def claim(size: str, access: str) -> str:
    return f"""
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: data, {FORCE}}}
spec: {{accessModes: [{access}], resources: {{requests: {{storage: {size}}}}}}}
"""


def state(app: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = app.get("status", {}).get("operationState", {})
    return found


def results(app: dict[str, Any]) -> dict[str, str]:
    found = state(app).get("syncResult", {}).get("resources", [])
    return {one["name"]: one["message"] for one in found}


def deployed(sha: str) -> Callable[[dict[str, Any]], bool]:
    def holds(app: dict[str, Any]) -> bool:
        return is_synced_at(app, sha) and state(app)["phase"] == "Succeeded"

    return holds


def is_synced_at(app: dict[str, Any], sha: str) -> bool:
    sync = app.get("status", {}).get("sync", {})
    return bool(sync.get("status") == "Synced" and sync.get("revision") == sha)


async def uid_of(agent: AgentFixture, path: str) -> str:
    found = await agent.get(path)
    assert found is not None
    return str(found["metadata"]["uid"])


def approved() -> dict[str, Any]:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"metadata": {"annotations": {DELETION_APPROVED: now}}}


JOB, SERVICE, CLAIM = "batch/v1/jobs/migrate", "services/web", "persistentvolumeclaims/data"


async def test_an_object_that_cannot_change_is_deleted_and_created_anew(
    agent: AgentFixture,
) -> None:
    first = {"web/job.yaml": job("1"), "web/service.yaml": service("")}
    sha = agent.commit({**first, "web/claim.yaml": claim("1Gi", "ReadWriteOnce")})
    await agent.apply_app("web", "web", syncPolicy=PRUNING)
    await agent.until(deployed(sha), app="web")
    before = {path: await uid_of(agent, path) for path in (JOB, SERVICE)}

    sha = agent.commit({"web/job.yaml": job("2"), "web/service.yaml": service("clusterIP: None, ")})
    app = await agent.until(deployed(sha), app="web")

    assert "deleted and created anew" in results(app)["migrate"]
    assert "deleted and created anew" in results(app)["web"]
    after = {path: await uid_of(agent, path) for path in (JOB, SERVICE)}
    assert before[JOB] != after[JOB]
    assert before[SERVICE] != after[SERVICE]
    live = await agent.get(JOB)
    assert live is not None
    image = live["spec"]["template"]["spec"]["containers"][0]["image"]
    assert image == "registry.example/migrate:2"


async def test_an_object_that_the_server_takes_in_no_form_is_not_deleted(
    agent: AgentFixture,
) -> None:
    agent.commit({"web/claim.yaml": claim("1Gi", "ReadWriteOnce")})
    await agent.apply_app("web", "web", syncPolicy={**PRUNING, "retry": {"limit": 0}})
    await agent.until(lambda app: is_synced(app, health="Progressing"), app="web")
    before = await uid_of(agent, CLAIM)

    agent.commit({"web/claim.yaml": claim("1Gi", "WriteAlways")})
    app = await agent.until(lambda app: state(app).get("phase") == "Failed", app="web")

    assert "Force=true deleted nothing" in results(app)["data"]
    assert await uid_of(agent, CLAIM) == before


async def test_a_prune_and_a_deletion_wait_for_their_approval(agent: AgentFixture) -> None:
    old = with_options(config_map("old"), "Prune=confirm")
    kept = with_options(config_map("kept"), "Delete=confirm")
    files = {"web/old.yaml": old, "web/kept.yaml": kept}
    agent.commit({**files, "web/a.yaml": config_map("a", key="1")})
    await agent.apply_app("web", "web", metadata={"finalizers": [FINALIZER]}, syncPolicy=PRUNING)
    await agent.until_synced("web")

    sha = agent.commit({"web/old.yaml": None, "web/a.yaml": config_map("a", key="2")})
    waits = "waiting for pruning confirmation of ConfigMap/old"
    app = await agent.until(lambda app: state(app)["message"].startswith(waits), app="web")
    assert "gitops app confirm-deletion web" in state(app)["message"]
    live = await agent.get("configmaps/a")
    assert live is not None
    assert live["data"] == {"key": "1"}, "the whole wave waits"

    await agent.patch_app("web", approved())
    await agent.until(deployed(sha), app="web")
    await agent.until_gone("configmaps/old")
    await agent.until(lambda app: marked(app) == {"a": False, "kept": True}, app="web")

    # An approval has whole seconds: one of the same second as the deletion would be of it too.
    pruned = datetime.now(UTC)
    await eventually(lambda: datetime.now(UTC) > pruned + timedelta(seconds=1))
    await agent.delete_app("web")
    app = await agent.until(lambda app: "DeletionConfirmationWarning" in conditions(app), app="web")
    assert "ConfigMap/kept" in conditions(app)["DeletionConfirmationWarning"]
    assert await agent.get("configmaps/a") is not None

    deleted = datetime.fromisoformat(app["metadata"]["deletionTimestamp"])
    await eventually(lambda: datetime.now(UTC) >= deleted)
    await agent.patch_app("web", approved())
    await eventually(lambda: _is_gone(agent, "web"))
    await agent.until_gone("configmaps/kept")


def marked(app: dict[str, Any]) -> dict[str, bool]:
    """Object -> whether its deletion waits for an approval."""
    resources = app["status"]["resources"]
    return {one["name"]: one.get("requiresDeletionConfirmation", False) for one in resources}


async def _is_gone(agent: AgentFixture, name: str) -> bool:
    try:
        await agent.app(name)
    except KubeApiError as error:
        return error.code == 404
    return False


async def test_an_object_of_another_application_fails_the_sync_until_it_is_free(
    agent: AgentFixture,
) -> None:
    agent.commit({"one/a.yaml": config_map("a", of="one")})
    await agent.apply_app("one", "one", syncPolicy=PRUNING)
    await agent.until_synced("one")
    agent.commit({"two/a.yaml": config_map("a", of="two"), "two/b.yaml": config_map("b")})
    policy = {"automated": {}, "syncOptions": ["FailOnSharedResource=true"]}
    await agent.apply_app("two", "two", syncPolicy=policy)

    app = await agent.until(lambda app: state(app).get("phase") == "Failed", app="two")

    assert "part of the application 'one' too" in state(app)["message"]
    assert {"SharedResourceWarning", "SyncError"} <= conditions(app).keys()
    assert await agent.get("configmaps/b") is None, "nothing is applied at all"

    sha = agent.commit({"one/a.yaml": None, "one/c.yaml": config_map("c")})
    await agent.until(deployed(sha), app="one")
    await agent.until_synced("two")
    live = await agent.get("configmaps/a")
    assert live is not None
    assert live["data"] == {"of": "two"}


async def test_the_destination_namespace_has_the_listed_metadata_and_keeps_the_rest(
    agent: AgentFixture,
) -> None:
    path = f"/api/v1/namespaces/{agent.destination}"
    await agent.api.patch(path, {"metadata": {"labels": {"of-others": "yes"}}})
    agent.commit({"web/a.yaml": config_map("a").replace("metadata: {", f"metadata: {{{LINK}, ")})

    async def apply(**metadata: dict[str, str]) -> None:
        policy = {**PRUNING, "syncOptions": ["CreateNamespace=true"]}
        policy["managedNamespaceMetadata"] = metadata
        await agent.apply_app("web", "web", syncPolicy=policy)

    async def metadata_of() -> dict[str, Any]:
        found: dict[str, Any] = (await agent.api.get(path))["metadata"]
        return found

    def applied(labels: dict[str, str]) -> Callable[[dict[str, Any]], bool]:
        def holds(app: dict[str, Any]) -> bool:
            found = state(app).get("syncResult", {}).get("managedNamespaceMetadata", {})
            return is_synced(app) and found.get("labels") == labels

        return holds

    level = {"pod-security.kubernetes.io/enforce": "baseline"}
    await apply(labels={**level, "team": "shop"}, annotations={"owner": "ann"})
    app = await agent.until(applied({**level, "team": "shop"}), app="web")
    assert app["status"]["summary"]["externalURLs"] == ["Wiki|https://wiki.example"]
    found = await metadata_of()
    assert found["labels"].items() >= {**level, "team": "shop", "of-others": "yes"}.items()
    assert found["annotations"]["owner"] == "ann"

    await apply(labels=level)
    await agent.until(applied(level), app="web")
    found = await metadata_of()
    assert found["labels"].items() >= {**level, "of-others": "yes"}.items()
    assert "team" not in found["labels"]
    assert "owner" not in found.get("annotations", {})

    # What others hold is theirs, and the sync says whose it is.
    await apply(labels={**level, "of-others": "no"})
    app = await agent.until(lambda app: "conflict" in str(state(app)), app="web")
    assert "owns .metadata.labels.of-others" in state(app)["message"]
    assert (await metadata_of())["labels"]["of-others"] == "yes"


async def test_the_pod_security_of_a_namespace_needs_a_project_that_permits_namespaces(
    agent: AgentFixture,
) -> None:
    await limit(agent)
    agent.commit({"web/a.yaml": config_map("a")})
    metadata = {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}}
    policy = {**PRUNING, "syncOptions": ["CreateNamespace=true", "Replace=true"]}
    policy["managedNamespaceMetadata"] = metadata
    await agent.apply_app("web", "web", project="limited", syncPolicy=policy)
    app = await agent.until(lambda app: state(app).get("phase") == "Failed", app="web")
    assert "add it to spec.clusterResourceWhitelist" in str(state(app))
    found = (await agent.api.get(f"/api/v1/namespaces/{agent.destination}"))["metadata"]
    assert "pod-security.kubernetes.io/enforce" not in found["labels"]
    assert await agent.get("configmaps/a") is None

    await limit(agent, clusterResourceWhitelist=[{"group": "", "kind": "Namespace"}])
    await agent.until_synced("web")
    found = (await agent.api.get(f"/api/v1/namespaces/{agent.destination}"))["metadata"]
    assert found["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"


async def test_each_propagation_of_a_prune_does_what_kubernetes_says(agent: AgentFixture) -> None:
    policies = ("orphan", "background", "foreground")
    agent.commit({f"{it}/web.yaml": _deployment(it) for it in policies})
    for it in policies:
        options = [f"PrunePropagationPolicy={it}"]
        await agent.apply_app(it, it, syncPolicy={**PRUNING, "syncOptions": options})
    for it in policies:
        await agent.until(lambda app: state(app).get("phase") == "Succeeded", app=it)

    async def owners() -> dict[str, int]:
        """The replica sets that are there, by application, with the number of their owners."""
        path = f"/apis/apps/v1/namespaces/{agent.destination}/replicasets"
        found = (await agent.api.get(path))["items"]
        return {
            one["metadata"]["labels"]["app"]: len(one["metadata"].get("ownerReferences", []))
            for one in found
        }

    async def all_made() -> bool:
        return (await owners()).keys() == set(policies)

    await eventually(all_made)
    sha = agent.commit(
        {f"{it}/{name}.yaml": text for it in policies for name, text in _emptied(it)}
    )
    for it in policies:
        await agent.until(deployed(sha), app=it)

    async def only_the_orphan_is_left() -> bool:
        return await owners() == {"orphan": 0}

    await eventually(only_the_orphan_is_left)


def _emptied(application: str) -> tuple[tuple[str, str | None], ...]:
    return (("web", None), ("note", config_map(f"note-{application}")))


def _deployment(name: str) -> str:
    return f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec:
  replicas: 0
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec: {{containers: [{{name: main, image: "registry.example/web:1"}}]}}
"""
