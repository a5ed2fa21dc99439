"""An Application whose chart is in a Helm repository: deployed, and followed over versions."""

from playground.charthost import ChartHost
from tests.flows.agent_fixture import AgentFixture, conditions

HEALING = {"automated": {"prune": True, "selfHeal": True}}
REFRESH = {"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}}


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
        app = await agent.until(
            lambda app: (
                app["status"]["operationState"]["syncResult"]["revision"] == "1.1.0"
                and app["status"]["sync"]["status"] == "Synced"
            ),
            app="web",
        )
        deployed = await agent.get("configmaps/web")
        assert deployed is not None
        assert deployed["data"] == {"version": "1.1.0", "greeting": "1.1.0"}
        assert [one["revision"] for one in app["status"]["history"]] == ["1.0.0", "1.1.0"]

        await agent.patch_app("web", {"spec": {"source": {"targetRevision": ">=9"}}})
        app = await agent.until(lambda app: "ComparisonError" in conditions(app), app="web")
        assert (
            "no version in the range '>=9' among 3 versions" in conditions(app)["ComparisonError"]
        )
        assert await agent.get("configmaps/web") == deployed
