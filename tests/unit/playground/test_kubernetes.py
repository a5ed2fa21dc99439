import ssl

import aiohttp
import pytest

from playground.kubeapi import Access, KubeApi, KubeApiError, kube_api
from playground.kubernetes import ControlPlane
from playground.rights import GrantedRule, RightsAccount, open_account
from tests.support import eventually


def deployment(name: str, labels: dict[str, str], annotations: dict[str, str]) -> dict[str, object]:
    metadata = {"labels": {"app": name, **labels}, "annotations": annotations}
    containers = [{"name": "main", "image": "example.test/main:1"}]
    return {
        "metadata": {"name": name},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": metadata, "spec": {"containers": containers}},
        },
    }


async def available(api: KubeApi, path: str) -> bool:
    status = (await api.get(path)).get("status", {})
    conditions = {it["type"]: it["status"] for it in status.get("conditions", ())}
    return bool(status.get("availableReplicas") == 3 and conditions["Available"] == "True")


async def test_a_deployment_of_three_replicas_becomes_available(
    control_plane: ControlPlane, namespace: str
) -> None:
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    async with control_plane.api() as api:
        await api.create(path, deployment("web", {}, {}))
        await eventually(lambda: available(api, f"{path}/web"))


async def test_a_slow_pod_is_pending_first_and_ready_later(
    control_plane: ControlPlane, namespace: str
) -> None:
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    async with control_plane.api() as api:
        await api.create(path, deployment("web", {"playground/slow": "1s"}, {}))

        async def progressing() -> bool:
            status = (await api.get(f"{path}/web")).get("status", {})
            return bool(status.get("unavailableReplicas") == 3)

        await eventually(progressing)
        await eventually(lambda: available(api, f"{path}/web"))


@pytest.mark.parametrize("reason", ["ErrImagePull", "CrashLoopBackOff"])
async def test_a_pod_asked_to_fail_waits_with_the_reason(
    control_plane: ControlPlane, namespace: str, reason: str
) -> None:
    annotations = {} if reason == "ErrImagePull" else {"playground/reason": reason}
    async with control_plane.api() as api:
        path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
        await api.create(path, deployment("web", {"playground/fail": "true"}, annotations))

        async def reasons() -> bool:
            pods = (await api.get(f"/api/v1/namespaces/{namespace}/pods"))["items"]
            statuses = [it for pod in pods for it in pod["status"].get("containerStatuses", ())]
            return {it["state"]["waiting"]["reason"] for it in statuses} == {reason}

        await eventually(reasons)


async def test_a_pod_whose_image_is_missing_waits_with_its_name(
    control_plane: ControlPlane, namespace: str
) -> None:
    image = "registry.example/web:missing"
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": image}]}}
    async with control_plane.api() as api:
        pods = f"/api/v1/namespaces/{namespace}/pods"
        await api.create(pods, pod)

        async def waiting() -> bool:
            found = (await api.get(f"{pods}/p"))["status"].get("containerStatuses", ())
            statuses = [it["state"].get("waiting", {}) for it in found]
            return [(it.get("reason"), image in it.get("message", "")) for it in statuses] == [
                ("ImagePullBackOff", True)
            ]

        await eventually(waiting)


async def test_a_deleted_pod_goes(control_plane: ControlPlane, namespace: str) -> None:
    pods = f"/api/v1/namespaces/{namespace}/pods"
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "c:1"}]}}
    async with control_plane.api() as api:
        await api.create(pods, pod)
        await api.delete(f"{pods}/p")

        async def gone() -> bool:
            return not await api.exists(f"{pods}/p")

        await eventually(gone)


async def test_a_job_completes(control_plane: ControlPlane, namespace: str) -> None:
    jobs = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "c:1"}]}
    async with control_plane.api() as api:
        await api.create(jobs, {"metadata": {"name": "j"}, "spec": {"template": {"spec": pod}}})

        async def complete() -> bool:
            conditions = (await api.get(f"{jobs}/j"))["status"].get("conditions", ())
            return any(it["type"] == "Complete" for it in conditions)

        await eventually(complete)


async def test_the_administrators_certificate_is_accepted(control_plane: ControlPlane) -> None:
    trust = ssl.create_default_context(cafile=str(control_plane.access.ca_file))
    pair = control_plane.certificate
    trust.load_cert_chain(pair.certificate_file, pair.key_file)
    async with (
        aiohttp.ClientSession(control_plane.url) as session,
        session.get("/api/v1/namespaces/kube-system/secrets", ssl=trust) as answer,
    ):
        assert answer.status == 200


async def test_a_stranger_is_refused(control_plane: ControlPlane, namespace: str) -> None:
    stranger = Access(
        url=control_plane.url, ca_file=control_plane.access.ca_file, token="not-a-token"
    )
    async with kube_api(stranger) as api:
        with pytest.raises(KubeApiError) as refused:
            await api.get(f"/api/v1/namespaces/{namespace}/secrets")
    assert refused.value.code == 401


async def test_an_account_may_do_what_its_rules_say_and_no_more(
    control_plane: ControlPlane, namespace: str
) -> None:
    reads_nodes = GrantedRule(resources=("nodes",), verbs=("list",))
    writes_maps = GrantedRule(resources=("configmaps",), verbs=("create",))
    account = RightsAccount(
        namespace=namespace, name="agent", cluster_rules=(reads_nodes,), home_rules=(writes_maps,)
    )
    access = await open_account(control_plane, account)
    core = "/api/v1/namespaces"
    async with kube_api(access) as api:
        assert (await api.get("/api/v1/nodes"))["items"]
        await api.create(f"{core}/{namespace}/configmaps", {"metadata": {"name": "mine"}})
        for refused in (f"{core}/{namespace}/secrets", f"{core}/default/configmaps"):
            with pytest.raises(KubeApiError) as error:
                await api.get(refused)
            assert error.value.code == 403
