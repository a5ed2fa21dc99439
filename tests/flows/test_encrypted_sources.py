"""Objects that SOPS has encrypted in Git: decrypted for the cluster, and kept and shown nowhere."""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from bus.identity import AppKey
from bus.link import TaskKind
from tests.flows.agent_fixture import AgentFixture, conditions, config_map
from tests.flows.evidence import messages
from tests.flows.fake_service_link import FakeServiceLink, is_out_of_sync
from tests.sops_files import (
    BOTH,
    CONFIG,
    FIRST_KEY,
    PASSWORD,
    PIN,
    SECOND,
    SECOND_KEY,
    SECRET,
    URL,
)

AUTOMATED: Mapping[str, Any] = {"syncPolicy": {"automated": {"prune": True}}}
"""Prunes, so that a render that leaves an object out would be seen."""


@pytest.fixture
def stopped_agent(stopped_agent: AgentFixture, sops_binary: Path) -> AgentFixture:
    sops = stopped_agent.settings.sops.model_copy(update={"binary": sops_binary})
    stopped_agent.settings = stopped_agent.settings.model_copy(update={"sops": sops})
    return stopped_agent


KEYS = "plumbline.dev/decryption-keys"
MOVE = '[{"op": "move", "from": "/stringData/password", "path": "/stringData/public"}]'
LABELS = {"plumbline.dev/secret-type": "decryption-key"}


async def put_project(agent: AgentFixture, keys: str) -> None:
    path = f"/apis/argoproj.io/v1alpha1/namespaces/{agent.namespace}/appprojects/secret"
    body = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {"name": "secret", "annotations": {KEYS: keys}},
        "spec": {"sourceRepos": ["*"], "destinations": [{"server": "*", "namespace": "*"}]},
    }
    await agent.api.apply(path, body)


async def put_key(agent: AgentFixture, name: str, text: str, labels: Mapping[str, str]) -> None:
    path = f"/api/v1/namespaces/{agent.namespace}/secrets/{name}"
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "labels": dict(labels)},
        "stringData": {"identity.agekey": text},
    }
    await agent.api.apply(path, body)


async def until_error(agent: AgentFixture, text: str, app: str = "web") -> str:
    found = await agent.until(
        lambda app: text in conditions(app).get("ComparisonError", ""), app=app
    )
    return conditions(found)["ComparisonError"]


async def password_of(agent: AgentFixture, name: str = "db") -> str:
    found = await agent.get(f"secrets/{name}")
    return b64decode(found["data"]["password"]).decode() if found else ""


def kept_files(folder: Path) -> dict[str, bytes]:
    return {str(one): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


async def test_a_file_is_opened_when_its_key_is_there_and_kept_as_ciphertext(
    stopped_agent: AgentFixture,
) -> None:
    agent = stopped_agent
    agent.commit({"web/secret.yaml": SECRET, "web/plain.yaml": config_map("plain", a="1")})
    await put_project(agent, "sops")
    with capture_logs() as logged:
        async with agent.running():
            await agent.apply_app("web", "web", project="secret", **AUTOMATED)
            absent = await until_error(agent, "there is no Secret sops")
            assert absent.startswith("Secret db of web/secret.yaml cannot be decrypted: ")
            await put_key(agent, "sops", SECOND_KEY, LABELS)
            missing = await until_error(agent, "it is encrypted for age age1")
            assert "secret.yaml" in missing
            assert await agent.get("configmaps/plain") is None

            await put_key(agent, "sops", FIRST_KEY, LABELS)
            await agent.until_synced("web")
            assert await password_of(agent) == PASSWORD
            record = agent.parts.renders.recall(AppKey(agent.namespace, "web"))
            artifact = await agent.parts.artifacts.get(record.digest) if record else None
            streams = [
                body
                for stream in ("ASK", "CMD", "FACT", "DEAD")
                for _, body in await messages(agent.parts.bus, stream)
            ]
            app = await agent.app("web")
    assert artifact is not None
    assert b"ENC[AES256_GCM," in artifact
    kept = {**kept_files(agent.settings.state_dir), "artifact": artifact, "app": repr(app).encode()}
    kept |= {f"message {number}": body for number, body in enumerate(streams)}
    kept["log"] = repr(logged).encode()
    assert len(streams) > 1
    secrets = (PASSWORD.encode(), b64encode(PASSWORD.encode()), FIRST_KEY.strip().encode())
    assert [name for name, content in kept.items() for one in secrets if one in content] == []


async def test_a_changed_file_is_applied_in_no_part_and_other_keys_count_at_once(
    agent: AgentFixture,
) -> None:
    await put_project(agent, "old, new")
    await put_key(agent, "old", FIRST_KEY, LABELS)
    agent.commit({"web/both.yaml": BOTH})
    await agent.apply_app("web", "web", project="secret", **AUTOMATED)
    await agent.until_synced("web")
    assert (await agent.get("configmaps/web") or {})["data"] == {"pin": PIN, "url": URL}

    changed = BOTH.replace("kind: ConfigMap", "immutable: true\nkind: ConfigMap")
    agent.commit({"web/both.yaml": changed, "web/more.yaml": config_map("more", a="1")})
    broken = await until_error(agent, "(MAC)")
    assert "of web/both.yaml cannot be decrypted" in broken
    assert await agent.get("configmaps/more") is None
    assert await password_of(agent) == PASSWORD

    agent.commit({"web/both.yaml": SECOND, "web/more.yaml": CONFIG})
    await until_error(agent, "there is no Secret new with the label")
    await put_key(agent, "new", SECOND_KEY, LABELS)
    await agent.until_synced("web")

    await put_key(agent, "new", SECOND_KEY, {})
    await until_error(agent, "there is no Secret new with the label")
    assert await password_of(agent) == PASSWORD


async def test_every_tool_renders_encrypted_files_and_may_rename_their_objects(
    agent: AgentFixture,
) -> None:
    await put_project(agent, "sops")
    await put_key(agent, "sops", FIRST_KEY, LABELS)
    kustomization = "namePrefix: prod-\nresources: [secret.yaml]\n"
    chart = "apiVersion: v2\nname: chart\nversion: 1.0.0\n"
    moved = f"{kustomization}patches: [{{target: {{kind: Secret}}, patch: '{MOVE}'}}]\n"
    agent.commit(
        {
            "kustomized/kustomization.yaml": kustomization,
            "kustomized/secret.yaml": SECRET,
            "chart/Chart.yaml": chart,
            "chart/templates/config.yaml": CONFIG,
            "moved/kustomization.yaml": moved,
            "moved/secret.yaml": SECRET,
        }
    )
    for name in ("kustomized", "chart", "moved"):
        await agent.apply_app(name, name, project="secret", **AUTOMATED)
    await agent.until_synced("kustomized")
    await agent.until_synced("chart")
    assert await password_of(agent, "prod-db") == PASSWORD
    assert (await agent.get("configmaps/web") or {})["data"] == {"pin": PIN, "url": URL}
    refused = await until_error(agent, "another place or kind of object", app="moved")
    assert "moved/secret.yaml" in refused


async def test_what_was_encrypted_is_hidden_on_every_page(link: FakeServiceLink) -> None:
    agent = link.agent
    await put_project(agent, "sops")
    await put_key(agent, "sops", FIRST_KEY, LABELS)
    agent.commit({"web/both.yaml": BOTH})
    await agent.apply_app("web", "web", project="secret")
    await agent.until(is_out_of_sync, app="web")
    shown = [await link.do(TaskKind.DIFF, preview=True), await link.do(TaskKind.MANIFESTS)]
    await link.do(TaskKind.SYNC)
    await agent.until_synced("web")
    path = f"/api/v1/namespaces/{agent.destination}/configmaps/web"
    await agent.api.patch(path, {"data": {"pin": "1234"}})
    await agent.until(is_out_of_sync, app="web")
    shown += [await link.do(TaskKind.DIFF), await link.do(TaskKind.TREE)]
    for kind, name in (("ConfigMap", "web"), ("Secret", "db")):
        key = {"group": "", "kind": kind, "namespace": agent.destination, "name": name}
        shown.append(await link.do(TaskKind.LIVE, **key))
    assert [one.code for one in shown] == ["ok"] * len(shown)
    pages = [msgspec.json.encode(one).decode() for one in (*shown, *link.fake_service.items)]
    hidden = (PASSWORD, b64encode(PASSWORD.encode()).decode(), PIN, URL, "canary-c0ffee5d21b7")
    assert [(one[:300], word) for one in pages for word in hidden if word in one] == []
    assert [one for one in pages[: len(shown)] if "(hidden" in one]


async def test_a_project_that_is_changed_over_the_link_gets_no_keys(link: FakeServiceLink) -> None:
    agent = link.agent
    await put_project(agent, "")
    await put_key(agent, "sops", FIRST_KEY, LABELS)
    agent.commit({"web/secret.yaml": SECRET})
    await agent.apply_app("web", "web", project="secret", **AUTOMATED)
    await until_error(agent, "the AppProject 'secret' names no keys")
    manifest = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {"name": "secret", "annotations": {KEYS: "sops"}},
        "spec": {"sourceRepos": ["*"], "destinations": [{"server": "*", "namespace": "*"}]},
    }
    project = f"{agent.namespace}/secret"
    changed = await link.do(TaskKind.PUT, project, manifest=manifest)
    assert changed.code == "ok", changed
    await until_error(agent, "came or was changed over the link, and gets no keys")
    assert await agent.get("secrets/db") is None
