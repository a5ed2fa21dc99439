"""Hooks of a sync on a real cluster, with the Job controller: order, ends, deletion, crashes."""

from __future__ import annotations

from typing import Any

import pytest

from bus.events import TerminateOperation
from bus.identity import AppKey
from tests.flows.agent_fixture import AgentFixture, conditions, config_map, is_synced
from tests.flows.agent_process import agent_process
from tests.flows.test_kill_hops import dying

HEALING = {"automated": {"prune": True, "selfHeal": True}, "retry": {"limit": 0}}
FINALIZER = "argocd.argoproj.io/hook-finalizer"
HOOK = "argocd.argoproj.io/hook"
POLICY = "argocd.argoproj.io/hook-delete-policy"


def annotated(manifest: str, **annotations: str) -> str:
    """Lay annotations of Argo CD over a manifest of one metadata line."""
    words = ", ".join(
        f'argocd.argoproj.io/{k.replace("_", "-")}: "{v}"' for k, v in annotations.items()
    )
    return manifest.replace("metadata: {", f"metadata: {{annotations: {{{words}}}, ", 1)


def job(name: str, *, label: str = "", **annotations: str) -> str:
    """A Job that ends by itself; with `label` its pod does what the playground knows of it."""
    labels = f"labels: {{{label}}}" if label else ""
    return annotated(
        f"""
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}}}
spec:
  backoffLimit: 0
  template:
    metadata: {{{labels}}}
    spec: {{restartPolicy: Never, containers: [{{name: main, image: example/none}}]}}
""",
        **annotations,
    )


def state(app: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = app.get("status", {}).get("operationState") or {}
    return found


def ended(app: dict[str, Any]) -> bool:
    return state(app).get("phase") in ("Succeeded", "Failed", "Error")


def hooks(app: dict[str, Any]) -> dict[tuple[str, str], str]:
    """Phase and name -> how the hook ended."""
    found = state(app).get("syncResult", {}).get("resources", [])
    return {
        (one["syncPhase"], one["name"]): one["hookPhase"] for one in found if one.get("hookType")
    }


def messages(app: dict[str, Any]) -> dict[str, str]:
    found = state(app).get("syncResult", {}).get("resources", [])
    return {one["name"]: one["message"] for one in found}


def phase(app: dict[str, Any]) -> tuple[str, str]:
    return state(app).get("phase", ""), state(app).get("message", "")


async def uid_of(agent: AgentFixture, path: str) -> str:
    live = await agent.get(path)
    return str(live["metadata"]["uid"]) if live is not None else ""


async def test_hooks_and_waves_run_in_order_and_each_waits_for_the_one_before(
    agent: AgentFixture,
) -> None:
    agent.commit(
        {
            "web/a.yaml": job("early", hook="PreSync", sync_wave="-1"),
            "web/b.yaml": annotated(config_map("setting"), hook="PreSync"),
            "web/c.yaml": config_map("a"),
            "web/d.yaml": annotated(config_map("b"), sync_wave="1"),
            "web/e.yaml": job("middle", hook="Sync"),
            "web/f.yaml": job("late", hook="PostSync"),
            "web/g.yaml": annotated(config_map("never"), hook="SyncFail"),
            "web/h.yaml": annotated(config_map("aside"), hook="Skip"),
        }
    )
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    app = await agent.until(ended, app="web")
    assert state(app)["message"] == "successfully synced (all tasks run)"
    assert list(hooks(app).items()) == [
        (("PreSync", "early"), "Succeeded"),
        (("PreSync", "setting"), "Succeeded"),
        (("Sync", "middle"), "Succeeded"),
        (("PostSync", "late"), "Succeeded"),
    ]
    for name in ("early", "middle", "late"):
        live = await agent.get(f"batch/v1/jobs/{name}")
        assert live is not None
        assert FINALIZER not in live["metadata"].get("finalizers", [])
    assert await agent.get("configmaps/never") is None
    assert await agent.get("configmaps/aside") is None
    app = await agent.until_synced("web")
    shown = {one["name"] for one in app["status"]["resources"] if one.get("hook")}
    assert shown == {"early", "setting", "middle", "late"}


FAILS = 'playground/fail: "true"'
ENDLESS = 'playground/slow: "1h"'


async def test_a_next_sync_replaces_deletes_or_keeps_a_hook_as_its_policy_says(
    agent: AgentFixture,
) -> None:
    """Also a hook of the same name in two phases, and names that the server would generate."""
    numbered = annotated(config_map("numbered-"), hook="PreSync").replace(
        " name:", " generateName:"
    )
    agent.commit(
        {
            "web/a.yaml": config_map("a", key="1"),
            "web/b.yaml": job("replaced", hook="PreSync,PostSync"),
            "web/c.yaml": job("gone", hook="PreSync", hook_delete_policy="HookSucceeded"),
            "web/d.yaml": job("kept", hook="PreSync", hook_delete_policy="HookFailed"),
            "web/e.yaml": numbered,
        }
    )
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    app = await agent.until(ended, app="web")
    assert phase(app)[0] == "Succeeded"
    assert set(hooks(app).values()) == {"Succeeded"}
    assert [one for _, one in hooks(app)].count("replaced") == 2
    (generated,) = [name for _, name in hooks(app) if name.startswith("numbered-")]
    started = state(app)["startedAt"]
    assert f"-{state(app)['syncResult']['revision'][:7]}-presync-" in generated
    before = [await uid_of(agent, f"batch/v1/jobs/{name}") for name in ("replaced", "kept")]
    assert all(before)
    await agent.until_gone("batch/v1/jobs/gone")

    sha = agent.commit({"web/a.yaml": config_map("a", key="2")})
    app = await agent.until(
        lambda app: ended(app) and state(app)["syncResult"]["revision"] == sha, app="web"
    )
    assert phase(app)[0] == "Succeeded"
    after = [await uid_of(agent, f"batch/v1/jobs/{name}") for name in ("replaced", "kept")]
    assert after[0] not in ("", before[0])
    assert after[1] == before[1]
    assert await agent.get(f"configmaps/{generated}") is not None
    assert state(app)["startedAt"] >= started


async def test_a_failing_hook_ends_the_sync_and_runs_what_is_there_for_failures(
    agent: AgentFixture,
) -> None:
    agent.commit(
        {
            "web/a.yaml": config_map("a"),
            "web/b.yaml": failing("broken", hook="PreSync", hook_delete_policy="HookFailed"),
            "web/c.yaml": job("fine", hook="PreSync", hook_delete_policy="HookSucceeded"),
            "web/d.yaml": job("undo", hook="SyncFail", sync_wave="7"),
            "web/e.yaml": annotated(config_map("note"), hook="SyncFail"),
        }
    )
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    app = await agent.until(ended, app="web")
    how, message = phase(app)
    assert how == "Failed"
    assert "PreSync hook Job broken" in message
    assert hooks(app) == {
        ("PreSync", "broken"): "Failed",
        ("PreSync", "fine"): "Succeeded",
        ("SyncFail", "note"): "Succeeded",
        ("SyncFail", "undo"): "Succeeded",
    }
    assert await agent.get("configmaps/a") is None
    assert await agent.get("batch/v1/jobs/fine") is not None
    await agent.until_gone("batch/v1/jobs/broken")


def failing(name: str, **annotations: str) -> str:
    """A Job that fails at once: its deadline has passed before its pod can start."""
    return job(name, label=FAILS, **annotations).replace(
        "backoffLimit: 0", "activeDeadlineSeconds: 1"
    )


def waits_for(hook: str) -> Any:
    return lambda app: f"waiting for completion of hook {hook}" in phase(app)[1]


async def test_a_hook_that_never_ends_is_terminated_and_one_that_vanishes_fails(
    agent: AgentFixture,
) -> None:
    agent.commit(
        {
            "web/a.yaml": config_map("a"),
            "web/b.yaml": job("endless", label=ENDLESS, hook="PreSync"),
        }
    )
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    app = await agent.until(waits_for("batch/Job/endless"), app="web")
    assert hooks(app) == {("PreSync", "endless"): "Running"}
    job_path = f"/apis/batch/v1/namespaces/{agent.destination}/jobs/endless"
    held = await agent.api.get(job_path)
    assert FINALIZER in held["metadata"]["finalizers"]

    key = AppKey(agent.namespace, "web")
    await agent.publish(TerminateOperation(app=key, id="t1", actor="anna"))
    app = await agent.until(ended, app="web")
    assert phase(app) == ("Failed", "Operation terminated")
    assert (hooks(app)["PreSync", "endless"], messages(app)["endless"]) == ("Failed", "Terminated")
    await agent.until_gone("batch/v1/jobs/endless")
    assert await agent.get("configmaps/a") is None

    await agent.patch_app("web", {"operation": {"sync": {}}})
    await agent.until(waits_for("batch/Job/endless"), app="web")
    await agent.api.patch(job_path, {"metadata": {"finalizers": None}})
    await agent.api.delete(job_path)
    app = await agent.until(ended, app="web")
    assert phase(app)[0] == "Failed"
    assert "endless is missing, it might have been deleted" in phase(app)[1]
    assert hooks(app) == {("PreSync", "endless"): "Error"}


async def test_an_operation_is_terminated_also_where_its_commits_are_not_proven(
    agent: AgentFixture,
) -> None:
    agent.commit(
        {
            "web/a.yaml": config_map("a"),
            "web/b.yaml": job("endless", label=ENDLESS, hook="PreSync"),
        }
    )
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    await agent.until(waits_for("batch/Job/endless"), app="web")
    policy = {"repos": [{"url": "*"}], "gpg": {"mode": "head", "keys": ["A" * 40]}}
    project = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {"name": "default", "namespace": agent.namespace},
        "spec": {
            "sourceRepos": ["*"],
            "destinations": [{"server": "*", "namespace": "*"}],
            "sourceIntegrity": {"git": {"policies": [policy, policy]}},
        },
    }
    path = f"/apis/argoproj.io/v1alpha1/namespaces/{agent.namespace}/appprojects/default"
    await agent.api.apply(path, project)
    await agent.until(lambda app: "InvalidSpecError" in conditions(app), app="web")

    await agent.publish(
        TerminateOperation(app=AppKey(agent.namespace, "web"), id="t1", actor="anna")
    )
    app = await agent.until(ended, app="web")
    # The project, which is invalid now, may end it before the request does.
    assert phase(app)[0] in ("Failed", "Error")


async def test_a_retry_runs_all_hooks_again_under_the_same_generated_name(
    agent: AgentFixture,
) -> None:
    numbered = annotated(config_map("numbered-"), hook="PreSync").replace(
        " name:", " generateName:"
    )
    refused = (
        "apiVersion: v1\nkind: Service\nmetadata: {name: bad}\nspec: {ports: [{port: 700000}]}\n"
    )
    agent.commit(
        {"web/a.yaml": refused, "web/b.yaml": numbered, "web/c.yaml": job("once", hook="PreSync")}
    )
    backoff = {"duration": "10ms", "factor": 1, "maxDuration": "20ms"}
    policy = {"automated": {}, "retry": {"limit": 1, "backoff": backoff}}
    await agent.apply_app("web", "web", syncPolicy=policy)
    app = await agent.until(ended, app="web")
    assert (phase(app)[0], state(app)["retryCount"]) == ("Failed", 1)
    assert set(hooks(app).values()) == {"Succeeded"}
    found = await agent.api.get(f"/api/v1/namespaces/{agent.destination}/configmaps")
    names = [one["metadata"]["name"] for one in found["items"]]
    assert len([name for name in names if name.startswith("numbered-")]) == 1
    live = await agent.get("batch/v1/jobs/once")
    assert live is not None
    assert live["metadata"]["annotations"]["plumbline.dev/hook-run"].endswith("/1/PreSync")


async def test_a_sync_of_chosen_objects_and_the_strategy_apply_run_no_hooks(
    agent: AgentFixture,
) -> None:
    agent.commit({"web/a.yaml": config_map("a"), "web/b.yaml": job("never", hook="PreSync")})
    await agent.apply_app("web", "web")
    await agent.until(lambda app: app.get("status", {}).get("sync"), app="web")
    chosen = {"resources": [{"kind": "ConfigMap", "name": "a"}]}
    for sync in (chosen, {"syncStrategy": {"apply": {}}}):
        await agent.patch_app("web", {"operation": {"sync": sync}})
        app = await agent.until(lambda app: ended(app) and "operation" not in app, app="web")
        assert (phase(app)[0], hooks(app)) == ("Succeeded", {})
    await agent.patch_app("web", {"operation": {"sync": {"dryRun": True}}})
    app = await agent.until(lambda app: "(dry run)" in str(messages(app)), app="web")
    assert messages(app)["never"] == "created (dry run)"
    assert await agent.get("batch/v1/jobs/never") is None
    assert is_synced(app)


@pytest.mark.parametrize("place", ["after:apply", "after:step", "before:ack step"])
async def test_a_hook_runs_once_although_the_agent_is_killed_beside_it(
    stopped_agent: AgentFixture, place: str
) -> None:
    agent = stopped_agent
    slow = job("migrate", label='playground/slow: "4s"', hook="PreSync")
    agent.commit({"web/a.yaml": config_map("a"), "web/b.yaml": slow})
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    await dying(agent, place).until_killed()
    before = await uid_of(agent, "batch/v1/jobs/migrate")
    assert before
    async with agent_process(agent):
        app = await agent.until_synced("web")
        assert hooks(app) == {("PreSync", "migrate"): "Succeeded"}
        assert await uid_of(agent, "batch/v1/jobs/migrate") == before


async def test_hooks_of_a_helm_chart_run_in_the_order_of_their_weights(
    agent: AgentFixture,
) -> None:
    agent.commit(
        {
            "web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
            "web/templates/a.yaml": config_map("a"),
            "web/templates/b.yaml": helm("second", "pre-install,pre-upgrade", weight="5"),
            "web/templates/c.yaml": helm("first", "pre-install", weight="-5"),
            "web/templates/d.yaml": helm("last", "post-upgrade", policy="hook-succeeded"),
            "web/templates/e.yaml": helm("never", "test"),
        }
    )
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    app = await agent.until(ended, app="web")
    assert list(hooks(app).items()) == [
        (("PreSync", "first"), "Succeeded"),
        (("PreSync", "second"), "Succeeded"),
        (("PostSync", "last"), "Succeeded"),
    ]
    await agent.until_gone("configmaps/last")
    assert await agent.get("configmaps/never") is None


def helm(name: str, types: str, *, weight: str = "0", policy: str = "") -> str:
    policies = f', helm.sh/hook-delete-policy: "{policy}"' if policy else ""
    words = f'helm.sh/hook: "{types}", helm.sh/hook-weight: "{weight}"{policies}'
    return config_map(name).replace("metadata: {", f"metadata: {{annotations: {{{words}}}, ")
