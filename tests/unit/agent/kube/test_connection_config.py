from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from agent.kube.connection_config import KubeConfigError, connect


def write(folder: Path, user: dict[str, Any]) -> Path:
    file = folder / "kubeconfig"
    contexts = [
        {"name": name, "context": {"cluster": name, "user": "me"}} for name in ("one", "other")
    ]
    clusters = [
        {"name": name, "cluster": {"server": f"http://{name}.example"}} for name in ("one", "other")
    ]
    config = {
        "clusters": clusters,
        "contexts": contexts,
        "users": [{"name": "me", "user": user}],
        "current-context": "one",
    }
    file.write_text(json.dumps(config))
    return file


async def test_the_named_context_of_the_file_is_used(tmp_path: Path) -> None:
    file = write(tmp_path, {"token": "secret"})

    connection = await connect(file, "other")

    assert connection.url == "http://other.example"
    assert await connection.headers() == {"Authorization": "Bearer secret"}


@pytest.mark.parametrize(
    ("no_proxy", "expected"),
    [("", "http://proxy.example:3128"), ("one.example", None)],
    ids=["taken", "passed by"],
)
async def test_the_proxy_of_the_environment_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_proxy: str, expected: str | None
) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", no_proxy)

    connection = await connect(write(tmp_path, {"token": "secret"}))

    assert connection.proxy == expected


async def test_user_and_password_become_a_header(tmp_path: Path) -> None:
    connection = await connect(write(tmp_path, {"username": "me", "password": "pw"}))

    expected = base64.b64encode(b"me:pw").decode()
    assert await connection.headers() == {"Authorization": f"Basic {expected}"}


async def test_an_exec_plugin_gives_the_token(tmp_path: Path) -> None:
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": "from-plugin"},
    }
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "echo",
        "args": [json.dumps(credential)],
    }

    connection = await connect(write(tmp_path, {"exec": plugin}))

    assert await connection.headers() == {"Authorization": "Bearer from-plugin"}


async def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(KubeConfigError, match=r"nowhere.*no such file"):
        await connect(tmp_path / "nowhere")


async def test_an_unknown_context_is_named(tmp_path: Path) -> None:
    with pytest.raises(KubeConfigError, match="'third'"):
        await connect(write(tmp_path, {}), "third")


async def test_outside_a_pod_a_kubeconfig_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)

    with pytest.raises(KubeConfigError, match="give the path of a kubeconfig"):
        await connect()
