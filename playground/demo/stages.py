"""The main job, stage by stage: what is done, what must be seen, and where one looks for it.

Every stage looks at the cluster itself, never at what the agent says of it.
"""

from __future__ import annotations

from typing import Any

from playground.demo.repository import BROKEN, IMAGE, guestbook_deployment, unhealthy_application
from playground.demo.running_demo import RunningDemo, create_applications
from playground.demo.service_stages import SERVICE_STAGES
from playground.demo.stage import DemoStage, observe, spoken

_DEPLOYMENT = "/apis/apps/v1/namespaces/demo/deployments/guestbook"
_BANNER = "/api/v1/namespaces/demo/configmaps/guestbook-banner"


async def _three_applications(demo: RunningDemo) -> str:
    await create_applications(demo)

    async def seen() -> str:
        found = [spoken(app) for app in await demo.applications()]
        good = all(words.endswith("Synced, Healthy") for words in found)
        return "; ".join(found) if good else ""

    return await observe(demo, seen)


async def _push_of_an_image(demo: RunningDemo) -> str:
    demo.repository.commit(
        {"guestbook/deployment.yaml": guestbook_deployment("1.1")}, message="guestbook 1.1"
    )

    async def seen() -> str:
        image = _image(await demo.api.get(_DEPLOYMENT))
        return f"the Deployment runs {image}" if image == f"{IMAGE}:1.1" else ""

    return await observe(demo, seen)


async def _rolled_out(demo: RunningDemo) -> str:
    async def seen() -> str:
        app = await demo.application("guestbook")
        ready = (await demo.api.get(_DEPLOYMENT))["status"].get("updatedReplicas") == 2
        hook = _hook(app)
        good = ready and hook == "Succeeded" and spoken(app).endswith("Synced, Healthy")
        return f"{spoken(app)}; the smoke test {hook}" if good else ""

    return await observe(demo, seen)


async def _edit_by_hand(demo: RunningDemo) -> str:
    before = (await demo.api.get(_DEPLOYMENT))["metadata"]["generation"]
    await demo.api.patch(_DEPLOYMENT, {"spec": {"replicas": 5}})

    async def seen() -> str:
        now = await demo.api.get(_DEPLOYMENT)
        healed = now["spec"]["replicas"] == 2 and now["metadata"]["generation"] >= before + 2
        return "replicas went from 2 to 5 and back to 2" if healed else ""

    return await observe(demo, seen)


async def _removed_file(demo: RunningDemo) -> str:
    demo.repository.commit({"guestbook/banner.yaml": None}, message="no banner")

    async def seen() -> str:
        return "" if await demo.api.exists(_BANNER) else "the ConfigMap is gone"

    return await observe(demo, seen)


async def _broken_manifest(demo: RunningDemo) -> str:
    uid = (await demo.api.get(_DEPLOYMENT))["metadata"]["uid"]
    demo.repository.commit({"guestbook/deployment.yaml": BROKEN}, message="broken")

    async def seen() -> str:
        app = await demo.application("guestbook")
        message = _condition(app, "ComparisonError")
        kept = await demo.api.get(_DEPLOYMENT)
        unchanged = kept["metadata"]["uid"] == uid and _image(kept) == f"{IMAGE}:1.1"
        return f"refused: {message}; the Deployment is unchanged" if message and unchanged else ""

    return await observe(demo, seen)


async def _repaired(demo: RunningDemo) -> str:
    demo.repository.commit(
        {"guestbook/deployment.yaml": guestbook_deployment("1.2")}, message="repaired"
    )

    async def seen() -> str:
        app = await demo.application("guestbook")
        image = _image(await demo.api.get(_DEPLOYMENT))
        good = image == f"{IMAGE}:1.2" and not _condition(app, "ComparisonError")
        words = spoken(app)
        return f"{words}; image {image}" if good and words.endswith("Synced, Healthy") else ""

    return await observe(demo, seen)


async def _broken_on_purpose(demo: RunningDemo) -> str:
    await demo.laptop.create(unhealthy_application(demo.repository.url))

    async def seen() -> str:
        found = await demo.service.application("laptop", "checkout")
        if found is None or (found["sync"], found["health"]) != ("Synced", "Degraded"):
            return ""
        cause = found["cause"] or {}
        return f"laptop/checkout Synced, Degraded: {cause.get('reason')}, {cause.get('message')}"

    return await observe(demo, seen)


STAGES = (
    DemoStage(
        name="three applications",
        expected="plain manifests, a Helm chart and a kustomization are Synced and Healthy",
        run=_three_applications,
    ),
    DemoStage(
        name="push of an image tag",
        expected=f"after a signed webhook the Deployment's image is {IMAGE}:1.1",
        run=_push_of_an_image,
    ),
    DemoStage(
        name="rollout",
        expected="the new pods are ready, and the hook after the sync has succeeded",
        run=_rolled_out,
    ),
    DemoStage(
        name="edit by hand",
        expected="a person scales to 5 in the cluster; the agent heals it to 2",
        run=_edit_by_hand,
    ),
    DemoStage(
        name="file removed from Git",
        expected="its object is pruned",
        run=_removed_file,
    ),
    DemoStage(
        name="broken manifest",
        expected="the commit is refused with file and line; the old objects stay",
        run=_broken_manifest,
    ),
    DemoStage(
        name="repaired manifest",
        expected="the next good commit is deployed and the error is gone",
        run=_repaired,
    ),
    *SERVICE_STAGES,
    DemoStage(
        name="broken on purpose",
        expected=(
            "an image does not exist, and the service says which; it stays so for you to repair"
        ),
        run=_broken_on_purpose,
    ),
)


def _image(deployment: dict[str, Any]) -> str:
    return str(deployment["spec"]["template"]["spec"]["containers"][0]["image"])


def _condition(app: dict[str, Any], kind: str) -> str:
    conditions = app.get("status", {}).get("conditions", [])
    return next((str(one["message"]) for one in conditions if one["type"] == kind), "")


def _hook(app: dict[str, Any]) -> str:
    """How the hook of the last sync went; nothing where none has begun."""
    result = app.get("status", {}).get("operationState", {}).get("syncResult", {})
    hooks = [one for one in result.get("resources", []) if one.get("hookType")]
    return str(hooks[0]["hookPhase"]) if hooks else ""
