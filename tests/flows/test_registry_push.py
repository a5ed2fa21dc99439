"""A real registry tells the agent of a push by its own notification, and a source looks again."""

from __future__ import annotations

from pathlib import Path

from playground.charthost import packaged
from playground.registry import oci_registry
from tests.flows.agent_fixture import AgentFixture, is_synced
from tests.flows.test_exclusions import put_settings

SECRET = "a-secret-of-the-registry"
HEALING = {"automated": {"prune": True, "selfHeal": True}}


async def test_a_pushed_version_is_deployed_by_the_notification_of_its_registry(
    stopped_agent: AgentFixture, registry_binary: Path, tmp_path: Path
) -> None:
    secrets = f"/api/v1/namespaces/{stopped_agent.namespace}/secrets"
    known = {
        "metadata": {"name": "argocd-secret"},
        "stringData": {"webhook.oci.secret": SECRET},
    }
    await stopped_agent.api.create(secrets, known)
    await put_settings(stopped_agent, timeout_reconciliation="0")  # nothing is polled again
    async with stopped_agent.running() as running:
        endpoint = {
            "name": "agent",
            "url": f"http://127.0.0.1:{running.port}/api/webhook",
            "headers": {"Authorization": [f"Bearer {SECRET}"]},
            "timeout": "10s",
            "threshold": 5,
            "backoff": "1s",
        }
        async with oci_registry(
            registry_binary,
            tmp_path / "registry",
            tmp_path / "files",
            notifications={"endpoints": [endpoint]},
        ) as registry:
            login = {"url": registry.address, "type": "helm", "insecureOCIForceHttp": "true"}
            labels = {"argocd.argoproj.io/secret-type": "repo-creds"}
            named = {"metadata": {"name": "registry", "labels": labels}, "stringData": login}
            await stopped_agent.api.create(secrets, named)
            await registry.push_chart("charts/web", "1.0.0", packaged("web", "1.0.0"))
            chart = {
                "repoURL": f"{registry.address}/charts",
                "chart": "web",
                "targetRevision": "^1",
            }
            await stopped_agent.apply_app("web", "", source=chart, syncPolicy=HEALING)
            first = await stopped_agent.until_synced("web")

            await registry.push_chart("charts/web", "1.1.0", packaged("web", "1.1.0"))
            await stopped_agent.until(
                lambda app: is_synced(app) and app["status"]["sync"]["revision"] == "1.1.0",
                app="web",
            )

    assert first["status"]["sync"]["revision"] == "1.0.0"
