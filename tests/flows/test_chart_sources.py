"""An Application whose chart is in a Helm repository: deployed, and followed over versions."""

from collections.abc import Mapping
from typing import Any

from bus.events import RefreshRepository
from bus.identity import RepositoryKey
from playground.charthost import ChartHost
from tests.flows.agent_fixture import AgentFixture, conditions

HEALING = {"automated": {"prune": True, "selfHeal": True}}
REFRESH = {"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}}


def revisions(app: Mapping[str, Any]) -> list[str]:
    """What was deployed: an entry is written when its operation has ended."""
    return [one["revision"] for one in app["status"].get("history", ())]


async def test_a_chart_of_a_range_is_deployed_and_its_next_version_too(
    agent: AgentFixture,
) -> None:
    async with ChartHost() as charts:
        charts.publish("web", "1.0.0")
        charts.publish("web", "2.0.0")
        source = {
            "repoURL": charts.url,
            "chart": "web",
            "targetRevision": "1.x",
            "helm": {"parameters": [{"name": "greeting", "value": "$ARGOCD_APP_REVISION"}]},
        }
        await agent.apply_app("web", "", source=source, syncPolicy=HEALING)
        app = await agent.until_synced("web")
        assert app["status"]["sync"]["revision"] == "1.0.0"
        assert app["status"]["sourceType"] == "Helm"
        assert conditions(app) == {}

        charts.publish("web", "1.1.0")
        await agent.patch_app("web", REFRESH)
        await agent.until(lambda app: revisions(app) == ["1.0.0", "1.1.0"], app="web")
        deployed = await agent.get("configmaps/web")
        assert deployed is not None
        assert deployed["data"] == {"version": "1.1.0", "greeting": "1.1.0"}

        charts.publish("web", "1.2.0")
        await agent.publish(RefreshRepository(repository=RepositoryKey(f"{charts.url}#web")))
        await agent.until(lambda app: revisions(app)[-1] == "1.2.0", app="web")
        deployed = await agent.get("configmaps/web")

        await agent.patch_app("web", {"spec": {"source": {"targetRevision": ">=9"}}})
        app = await agent.until(lambda app: "ComparisonError" in conditions(app), app="web")
        assert (
            "no version in the range '>=9' among 4 versions" in conditions(app)["ComparisonError"]
        )
        assert await agent.get("configmaps/web") == deployed
