"""An Application whose chart lies in Git and depends on charts that do not lie beside it."""

from playground.charthost import ChartHost
from tests.flows.agent_fixture import AgentFixture, conditions
from tests.support import eventually
from tests.unit.handlers.render.dependent_charts import chart_yaml

LOGIN = ("kim", "a-password-nobody-may-see")
HEALING = {"automated": {"prune": True, "selfHeal": True}}
REFRESH = {"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}}
COMMON = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: common}\ndata: {a: "1"}\n'


async def test_charts_that_a_chart_depends_on_are_fetched_and_followed(
    agent: AgentFixture,
) -> None:
    async with ChartHost() as charts:
        charts.publish("db", "1.0.0")
        local = ("common", "1.x", "file://../common")
        agent.commit(
            {
                "web/Chart.yaml": chart_yaml(("db", "^1", charts.url), local),
                "common/Chart.yaml": "apiVersion: v2\nname: common\nversion: 1.0.0\n",
                "common/templates/a.yaml": COMMON,
            }
        )
        await agent.apply_app("web", "web", syncPolicy=HEALING)
        app = await agent.until_synced("web")
        assert conditions(app) == {}
        assert await agent.get("configmaps/common")

        async def until_deployed(**data: str) -> None:
            async def is_deployed() -> bool:
                found = await agent.get("configmaps/web")
                return found is not None and found["data"] == data

            await eventually(is_deployed, within=120)

        await until_deployed(version="1.0.0", greeting="hello")
        agent.commit({"web/values.yaml": "db: {greeting: bye}\n", "other/a": "1"})
        await until_deployed(version="1.0.0", greeting="bye")
        assert [path for path, _, _ in charts.requests].count("db-1.0.0.tgz") == 1

        charts.publish("db", "1.1.0")
        await agent.patch_app("web", REFRESH)
        await until_deployed(version="1.1.0", greeting="bye")

        agent.commit({"web/Chart.yaml": chart_yaml(("db", "^9", charts.url), local)})
        app = await agent.until(lambda app: "ComparisonError" in conditions(app), app="web")
        assert "'db' ^9" in conditions(app)["ComparisonError"]
        assert "no version in the range '^9' among 2 versions" in conditions(app)["ComparisonError"]
        assert await agent.get("configmaps/common")

        charts.publish("db", "9.0.0")
        await agent.patch_app("web", REFRESH)
        await until_deployed(version="9.0.0", greeting="bye")


async def test_a_chart_that_could_not_be_read_is_tried_again_without_a_commit(
    agent: AgentFixture,
) -> None:
    async with ChartHost(login=LOGIN) as charts:
        charts.publish("db", "1.0.0")
        agent.commit(
            {
                "web/Chart.yaml": chart_yaml(("db", "1.0.0", "@stable")),
                "web/.argocd-source.yaml": "helm: {version: v2}\n",
            }
        )
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "db", "labels": {"argocd.argoproj.io/secret-type": "repository"}},
            "stringData": {"url": charts.url, "type": "helm", "name": "stable"},
        }
        secrets = f"/api/v1/namespaces/{agent.namespace}/secrets"
        await agent.api.create(secrets, secret)
        await agent.apply_app("web", "web", syncPolicy=HEALING)
        app = await agent.until(lambda app: "ComparisonError" in conditions(app), app="web")
        assert "HTTP 401" in conditions(app)["ComparisonError"]

        login = {"username": LOGIN[0], "password": LOGIN[1]}
        await agent.api.patch(f"{secrets}/db", {"stringData": login})
        app = await agent.until_synced("web")
        assert "`.argocd-source`.helm.version" in conditions(app)["UnsupportedFieldWarning"]
