"""The main job, stage by stage: what is done, what must be seen, and where one looks for it.

Every stage looks at the cluster itself, never at what the agent says of it.
"""

from __future__ import annotations

from typing import Any

from playground.demo.far_stages import FAR_STAGES
from playground.demo.house import House, create_applications
from playground.demo.repository import BROKEN, IMAGE, guestbook_deployment
from playground.demo.sight import sight, spoken
from playground.demo.stage import Stage

_DEPLOYMENT = "/apis/apps/v1/namespaces/demo/deployments/guestbook"
_BANNER = "/api/v1/namespaces/demo/configmaps/guestbook-banner"


async def _three_applications(house: House) -> str:
    await create_applications(house)

    async def seen() -> str:
        found = [spoken(app) for app in await house.applications()]
        good = all(words.endswith("Synced, Healthy") for words in found)
        return "; ".join(found) if good else ""

    return await sight(house, seen)


async def _push_of_an_image(house: House) -> str:
    house.repository.commit(
        {"guestbook/deployment.yaml": guestbook_deployment("1.1")}, message="guestbook 1.1"
    )

    async def seen() -> str:
        image = _image(await house.api.get(_DEPLOYMENT))
        return f"the Deployment runs {image}" if image == f"{IMAGE}:1.1" else ""

    return await sight(house, seen)


async def _rolled_out(house: House) -> str:
    async def seen() -> str:
        words = spoken(await house.application("guestbook"))
        ready = (await house.api.get(_DEPLOYMENT))["status"].get("updatedReplicas") == 2
        return words if ready and words.endswith("Synced, Healthy") else ""

    return await sight(house, seen)


async def _edit_by_hand(house: House) -> str:
    before = (await house.api.get(_DEPLOYMENT))["metadata"]["generation"]
    await house.api.patch(_DEPLOYMENT, {"spec": {"replicas": 5}})

    async def seen() -> str:
        now = await house.api.get(_DEPLOYMENT)
        healed = now["spec"]["replicas"] == 2 and now["metadata"]["generation"] >= before + 2
        return "replicas went from 2 to 5 and back to 2" if healed else ""

    return await sight(house, seen)


async def _removed_file(house: House) -> str:
    house.repository.commit({"guestbook/banner.yaml": None}, message="no banner")

    async def seen() -> str:
        return "" if await house.api.exists(_BANNER) else "the ConfigMap is gone"

    return await sight(house, seen)


async def _broken_manifest(house: House) -> str:
    uid = (await house.api.get(_DEPLOYMENT))["metadata"]["uid"]
    house.repository.commit({"guestbook/deployment.yaml": BROKEN}, message="broken")

    async def seen() -> str:
        app = await house.application("guestbook")
        said = _condition(app, "ComparisonError")
        kept = await house.api.get(_DEPLOYMENT)
        unchanged = kept["metadata"]["uid"] == uid and _image(kept) == f"{IMAGE}:1.1"
        return f"refused: {said}; the Deployment is unchanged" if said and unchanged else ""

    return await sight(house, seen)


async def _repaired(house: House) -> str:
    house.repository.commit(
        {"guestbook/deployment.yaml": guestbook_deployment("1.2")}, message="repaired"
    )

    async def seen() -> str:
        app = await house.application("guestbook")
        image = _image(await house.api.get(_DEPLOYMENT))
        good = image == f"{IMAGE}:1.2" and not _condition(app, "ComparisonError")
        words = spoken(app)
        return f"{words}; image {image}" if good and words.endswith("Synced, Healthy") else ""

    return await sight(house, seen)


STAGES = (
    Stage(
        name="three applications",
        expected="plain manifests, a Helm chart and a kustomization are Synced and Healthy",
        run=_three_applications,
    ),
    Stage(
        name="push of an image tag",
        expected=f"after a signed webhook the Deployment's image is {IMAGE}:1.1",
        run=_push_of_an_image,
    ),
    Stage(
        name="rollout",
        expected="the new pods are ready and the application is Synced and Healthy",
        run=_rolled_out,
    ),
    Stage(
        name="edit by hand",
        expected="a person scales to 5 in the cluster; the agent heals it to 2",
        run=_edit_by_hand,
    ),
    Stage(
        name="file removed from Git",
        expected="its object is pruned",
        run=_removed_file,
    ),
    Stage(
        name="broken manifest",
        expected="the commit is refused with file and line; the old objects stay",
        run=_broken_manifest,
    ),
    Stage(
        name="repaired manifest",
        expected="the next good commit is deployed and the error is gone",
        run=_repaired,
    ),
    *FAR_STAGES,
)


def _image(deployment: dict[str, Any]) -> str:
    return str(deployment["spec"]["template"]["spec"]["containers"][0]["image"])


def _condition(app: dict[str, Any], kind: str) -> str:
    conditions = app.get("status", {}).get("conditions", [])
    return next((str(one["message"]) for one in conditions if one["type"] == kind), "")
