"""Stages of the scene `clusters`: one agent deploys to two clusters, and loses one for a while.

The remote cluster gets what `deploy/layouts/hub-and-spoke` documents, and nothing else of ours.
"""

from __future__ import annotations

import json
from base64 import b64decode
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from agent.child_process import until
from playground.demo.repository import (
    IMAGE,
    NAMESPACE,
    SHOP_IMAGE,
    applications,
    guestbook_deployment,
    remote_destination,
    shop_values,
)
from playground.demo.running_demo import RunningDemo
from playground.demo.stage import DemoStage, observe, spoken
from playground.kubeapi import KubeApi

LAYOUT = Path(__file__).parents[2] / "deploy/layouts/hub-and-spoke/destination.yaml"
CLUSTER = "remote"
_LOGIN_PATH = "/api/v1/namespaces/plumbline/secrets/deployer-token"
_GUESTBOOK = "/apis/apps/v1/namespaces/demo/deployments/guestbook"
_SHOP = "/apis/apps/v1/namespaces/demo/deployments/shop"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_ROOTS = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": "/api/v1/namespaces/plumbline/serviceaccounts",
    "Secret": "/api/v1/namespaces/plumbline/secrets",
    "ClusterRole": f"{_RBAC}/clusterroles",
    "ClusterRoleBinding": f"{_RBAC}/clusterrolebindings",
}


async def _cluster_secret(demo: RunningDemo) -> str:
    for body in yaml.safe_load_all(LAYOUT.read_text()):
        root = _ROOTS[body["kind"]]
        await demo.remote.api.apply(f"{root}/{body['metadata']['name']}", body)
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": f"cluster-{CLUSTER}",
            "labels": {"argocd.argoproj.io/secret-type": "cluster"},
        },
        "stringData": {
            "name": CLUSTER,
            "server": demo.remote.kubernetes.url,
            "config": json.dumps(await _login(demo.remote.api)),
        },
    }
    await demo.api.create(f"/api/v1/namespaces/{NAMESPACE}/secrets", secret)

    async def seen() -> str:
        found = await demo.service.cluster(CLUSTER)
        return f"{CLUSTER} {found['status']}: {found['message']}" if found else ""

    return await observe(demo, seen)


async def _login(api: KubeApi) -> dict[str, Any]:
    """The `config` of the cluster's Secret: the token that Kubernetes wrote for the account."""
    await until(partial(_has_token, api))
    data = (await api.get(_LOGIN_PATH))["data"]
    token = b64decode(data["token"]).decode()
    return {"bearerToken": token, "tlsClientConfig": {"caData": data["ca.crt"]}}


async def _has_token(api: KubeApi) -> bool:
    return "token" in (await api.get(_LOGIN_PATH)).get("data", {})


async def _both_clusters(demo: RunningDemo) -> str:
    for body in applications(demo.repository.url):
        match body["metadata"]["name"]:
            case "guestbook":
                await demo.laptop.create(body)
            case "shop":
                await demo.laptop.create(remote_destination(body, CLUSTER))

    async def seen() -> str:
        found = [spoken(app) for app in await demo.applications()]
        cluster = await demo.service.cluster(CLUSTER)
        good = all(words.endswith("Synced, Healthy") for words in found)
        if not (good and cluster and cluster["status"] == "Successful"):
            return ""
        return f"{'; '.join(found)}; {CLUSTER} Successful, {cluster['serverVersion']}"

    words = await observe(demo, seen)
    await demo.remote.api.get(_SHOP)
    return words


async def _push_to_both(demo: RunningDemo) -> str:
    return await _pushed(demo, "1.1")


async def _edit_there(demo: RunningDemo) -> str:
    before = (await demo.remote.api.get(_SHOP))["metadata"]["generation"]
    await demo.remote.api.patch(_SHOP, {"spec": {"replicas": 5}})

    async def seen() -> str:
        now = await demo.remote.api.get(_SHOP)
        healed = now["spec"]["replicas"] == 2 and now["metadata"]["generation"] >= before + 2
        return "replicas went from 2 to 5 and back to 2" if healed else ""

    return await observe(demo, seen)


async def _cluster_away(demo: RunningDemo) -> str:
    demo.remote_servers.kill_api_server()
    _commit(demo, "1.2")

    async def seen() -> str:
        image = _image(await demo.api.get(_GUESTBOOK))
        conditions = (await demo.application("shop"))["status"].get("conditions", ())
        errors = [str(it["message"]) for it in conditions if it["type"] == "ComparisonError"]
        named = errors and repr(CLUSTER) in errors[0]
        return (
            f"guestbook runs {image}; shop: {errors[0]}" if named and image[-4:] == ":1.2" else ""
        )

    return await observe(demo, seen)


async def _cluster_back(demo: RunningDemo) -> str:
    await demo.remote_servers.start_api_server()

    async def seen() -> str:
        app = await demo.application("shop")
        image = _image(await demo.remote.api.get(_SHOP))
        quiet = not app["status"].get("conditions")
        good = quiet and image == f"{SHOP_IMAGE}:1.2" and spoken(app).endswith("Synced, Healthy")
        return f"{spoken(app)}; it runs {image}" if good else ""

    return await observe(demo, seen)


async def _pushed(demo: RunningDemo, tag: str) -> str:
    _commit(demo, tag)

    async def seen() -> str:
        here = _image(await demo.api.get(_GUESTBOOK))
        there = _image(await demo.remote.api.get(_SHOP))
        good = (here, there) == (f"{IMAGE}:{tag}", f"{SHOP_IMAGE}:{tag}")
        return f"guestbook runs {here}, shop in the remote cluster {there}" if good else ""

    return await observe(demo, seen)


def _commit(demo: RunningDemo, tag: str) -> None:
    """Change what both clusters run, in one commit."""
    files = {
        "guestbook/deployment.yaml": guestbook_deployment(tag),
        "shop/values.yaml": shop_values(tag),
    }
    demo.repository.commit(files, message=f"guestbook and shop {tag}")


def _image(deployment: dict[str, Any]) -> str:
    return str(deployment["spec"]["template"]["spec"]["containers"][0]["image"])


CLUSTER_STAGES = (
    DemoStage(
        name="a second cluster",
        expected=(
            "an account in the remote cluster and a cluster Secret here are all; "
            "the service lists the cluster"
        ),
        run=_cluster_secret,
    ),
    DemoStage(
        name="an application in each cluster",
        expected="the agent deploys to its own cluster and to the remote one",
        run=_both_clusters,
    ),
    DemoStage(
        name="one push, two clusters",
        expected="one commit changes an image in each cluster",
        run=_push_to_both,
    ),
    DemoStage(
        name="edit by hand in the remote cluster",
        expected="a person scales to 5 there; the agent heals it to 2",
        run=_edit_there,
    ),
    DemoStage(
        name="the remote cluster is away",
        expected="a push reaches the other cluster; only its own application says so",
        run=_cluster_away,
    ),
    DemoStage(
        name="the remote cluster is back",
        expected="it gets the push that it missed",
        run=_cluster_back,
    ),
)
