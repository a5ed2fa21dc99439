"""Credential plugins of clusters: which may run, and what becomes of those that misbehave."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agent.kube import exec_plugin
from agent.kube.cluster_config import ClusterSecretError, LoginPermits
from agent.kube.cluster_secret import read_cluster_secret
from agent.kube.connection_config import KubeConfigError
from agent.kube.exec_plugin import ExecPlugin
from tests.support import eventually
from tests.unit.agent.kube.test_cluster_secret import CANARY, secret

SERVER = "https://10.0.0.1:6443"
VERSION = "client.authentication.k8s.io/v1"


def plugin(folder: Path, script: str, **config: Any) -> ExecPlugin:
    program = folder / "plugin"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o700)
    return ExecPlugin(command=str(program), **config)


def answer(**status: str) -> str:
    return json.dumps({"apiVersion": VERSION, "kind": "ExecCredential", "status": status})


async def test_the_token_of_a_plugin_is_used_until_it_expires(tmp_path: Path) -> None:
    count = tmp_path / "count"
    token = answer(token="t0", expirationTimestamp="2999-01-01T00:00:00Z")
    headers = plugin(tmp_path, f"echo x >> {count}\necho '{token}'").headers(SERVER)
    assert [await headers() for _ in range(2)] == [{"Authorization": "Bearer t0"}] * 2
    assert count.read_text().split() == ["x"]


async def test_an_expired_token_is_renewed(tmp_path: Path) -> None:
    count = tmp_path / "count"
    token = answer(token="t0", expirationTimestamp="2001-01-01T00:00:00Z")
    headers = plugin(tmp_path, f"echo x >> {count}\necho '{token}'").headers(SERVER)
    await headers()
    await headers()
    assert count.read_text().split() == ["x", "x"]


async def test_a_plugin_sees_its_own_variables_and_none_of_the_agents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITOPS_NATS_PASSWORD", CANARY)
    seen = tmp_path / "seen"
    one = plugin(tmp_path, f"env > {seen}\necho '{answer(token='t')}'", env={"REGION": "eu"})
    await one.run(SERVER)
    assert CANARY not in seen.read_text()
    assert "REGION=eu" in seen.read_text()
    assert SERVER in seen.read_text()


FAILING = {
    "it fails": ("echo secret-text; exit 3", "it ended with code 3"),
    "no JSON": ("echo secret-text", "no ExecCredential in JSON"),
    "another kind": ('echo \'{"kind": "secret-text"}\'', "no ExecCredential of"),
    "no token": (f"echo '{answer()}'", "no status.token"),
    "no time zone": (
        f"echo '{answer(token='secret-text', expirationTimestamp='2999-01-01T00:00:00')}'",
        "expirationTimestamp has no time zone",
    ),
    "too much": ("yes secret-text", "more than 65536 bytes"),
}


@pytest.mark.parametrize(("script", "why"), FAILING.values(), ids=FAILING)
async def test_a_plugin_that_misbehaves_is_named_and_not_quoted(
    script: str, why: str, tmp_path: Path
) -> None:
    with pytest.raises(KubeConfigError) as error:
        await plugin(tmp_path, script).run(SERVER)
    assert why in str(error.value)
    assert "secret-text" not in str(error.value)


@pytest.mark.parametrize("config", [{"args": ("secret-text\0",)}, {"env": {"A": "secret-text\0"}}])
async def test_what_no_program_can_be_given_is_named_and_not_quoted(
    config: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(KubeConfigError, match="args or env hold a NUL") as error:
        await plugin(tmp_path, "true", **config).run(SERVER)
    assert "secret-text" not in str(error.value)


async def test_a_token_that_expired_in_the_year_1_is_renewed(tmp_path: Path) -> None:
    token = answer(token="t0", expirationTimestamp="0001-01-01T00:00:00Z")
    headers = plugin(tmp_path, f"echo '{token}'").headers(SERVER)
    assert [await headers() for _ in range(2)] == [{"Authorization": "Bearer t0"}] * 2


async def test_a_plugin_that_hangs_is_ended_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exec_plugin, "WITHIN", 0.5)
    pid = tmp_path / "pid"
    with pytest.raises(KubeConfigError, match="did not end within"):
        await plugin(tmp_path, f"sleep 1000 &\necho $! > {pid}\nwait").run(SERVER)
    child = int(pid.read_text())
    await eventually(lambda: has_ended(child), what="the end of its child")


def has_ended(child: int) -> bool:
    """Whether the process is gone, or is a corpse that nobody collects."""
    try:
        os.kill(child, 0)
        return Path(f"/proc/{child}/stat").read_text().split()[2] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        return True


async def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(KubeConfigError, match=r"'/no/such/plugin': it cannot be started"):
        await ExecPlugin(command="/no/such/plugin").run(SERVER)


def config(command: str, *args: str, **env: str) -> dict[str, Any]:
    return {"execProviderConfig": {"command": command, "args": list(args), "env": env}}


def test_only_allowed_commands_run_with_all_their_arguments_allowed() -> None:
    commands = ("aws eks get-token --cluster-name *", "kubelogin", "*")
    allowed = LoginPermits(commands=commands)
    token = config("aws", "eks", "get-token", "--cluster-name", "prod")
    found = read_cluster_secret(secret(config=token), allowed).auth
    assert found == ExecPlugin(command="aws", args=("eks", "get-token", "--cluster-name", "prod"))
    elsewhere = ("--endpoint-url", "https://evil.example")
    for refused in (
        config("aws", "s3", "ls"),
        config("sh", "-c", "kubelogin"),
        config(""),
        config("aws", "eks", "get-token", "--cluster-name", "prod", *elsewhere),
        config("kubelogin", "--server-id", "x"),
    ):
        with pytest.raises(ClusterSecretError, match="GITOPS_KUBE_EXEC_COMMANDS"):
            read_cluster_secret(secret(config=refused), allowed)


def test_a_plugin_is_not_allowed_unless_it_is_named() -> None:
    with pytest.raises(ClusterSecretError, match=r"execProviderConfig\.command"):
        read_cluster_secret(secret(config=config("kubelogin")))


@pytest.mark.parametrize(
    "name", ["LD_PRELOAD", "PATH", "AWS_ENDPOINT_URL_STS", "HTTPS_PROXY", "AWS_CONFIG_FILE"]
)
def test_variables_that_lead_a_plugin_elsewhere_are_refused(name: str) -> None:
    with pytest.raises(ClusterSecretError, match=name):
        read_cluster_secret(
            secret(config=config("kubelogin", **{name: "x"})), LoginPermits(commands=("kubelogin",))
        )


def test_a_secret_may_choose_a_profile_of_the_agents_owner() -> None:
    one = config("kubelogin", AWS_PROFILE="staging")
    found = read_cluster_secret(secret(config=one), LoginPermits(commands=("kubelogin",))).auth
    assert isinstance(found, ExecPlugin)
    assert found.env == {"AWS_PROFILE": "staging"}
