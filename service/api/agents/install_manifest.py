"""The manifest of an agent's installation: `GET /agents/{id}/manifest`."""

from __future__ import annotations

from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import msgspec
from aiohttp import web

from service.access.permissions import Permission
from service.api.agents import agents
from service.api.agents.install.options import (
    InstallFeature,
    InstallOptions,
    InstallScope,
    KindName,
    RightsProfile,
)
from service.api.agents.install.render import as_helm, as_kustomize, as_yaml
from service.http.call import PUBLIC_URL, ApiCall
from service.http.endpoint import Endpoint, RequestModel
from service.http.fields import Name
from service.http.problem import HEADERS, invalid

_HOST = r"^[A-Za-z0-9]([A-Za-z0-9._/:-]{0,250}[A-Za-z0-9])?$"
_PROXY = r"^https?://[A-Za-z0-9.\[\]:-]{1,250}/?$"
_WORD = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_KINDS = rf"^{_WORD}(\.{_WORD})*(,{_WORD}(\.{_WORD})*)*$"
Object = Annotated[
    str, msgspec.Meta(max_length=253, pattern=r"^([a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$")
]


class ManifestFormat(StrEnum):
    YAML = "yaml"
    HELM = "helm"
    KUSTOMIZE = "kustomize"


class ManifestQuery(RequestModel, frozen=True, kw_only=True):
    """A proxy with a user and password is refused: name a Secret in the agent's environment."""

    format: ManifestFormat = ManifestFormat.YAML
    namespace: Name = "argocd"
    scope: InstallScope = InstallScope.CLUSTER
    destination: Annotated[
        str, msgspec.Meta(max_length=63, pattern=r"^([a-z0-9]([a-z0-9-]*[a-z0-9])?)?$")
    ] = ""
    """With scope namespace: the namespace of the workloads, which is not the agent's own."""
    profile: RightsProfile = RightsProfile.NAMESPACED
    """Kinds that the agent may deploy; kinds: those that are named, and no other."""
    kinds: Annotated[str, msgspec.Meta(max_length=4000, pattern=f"^$|{_KINDS}")] = ""
    """Further kinds, PLURAL.GROUP separated by commas: certificates.cert-manager.io."""
    registry: Annotated[str, msgspec.Meta(max_length=253, pattern=f"^$|{_HOST}")] = ""
    pull_secret: Object = ""
    proxy: Annotated[str, msgspec.Meta(max_length=260, pattern=f"^$|{_PROXY}")] = ""
    ca_secret: Object = ""
    features: Annotated[str, msgspec.Meta(max_length=200)] = "sync,logs,manage"
    """Separated by commas: sync, logs, manage, create-namespaces, roles."""
    read_only: bool = False
    """The control plane may only look; stands in the cluster, where it cannot change it."""
    definitions: bool = True
    """false: beside an Argo CD, which brings the definitions."""


async def get_manifest(call: ApiCall, params: ManifestQuery) -> web.Response:
    """Get the manifest that installs an agent, with the least rights for the chosen features.

    The manifest holds no secret.
    """
    row = await agents.find(call, Permission.AGENT_VIEW)
    options = InstallOptions(
        account=call.caller.account_name,
        agent=row.name,
        service_url=_service_url(call),
        version=_version(),
        namespace=params.namespace,
        scope=params.scope,
        destination=params.destination,
        profile=params.profile,
        kinds=_kinds(params.kinds),
        registry=params.registry,
        pull_secret=params.pull_secret,
        proxy=params.proxy,
        ca_secret=params.ca_secret,
        features=_features(params.features),
        read_only=params.read_only,
        definitions=params.definitions,
    )
    option, expected = options.problem
    if option:
        raise invalid(option, expected, rule="together")
    form = {
        ManifestFormat.YAML: as_yaml,
        ManifestFormat.HELM: as_helm,
        ManifestFormat.KUSTOMIZE: as_kustomize,
    }
    return web.Response(
        text=form[params.format](options), content_type="application/yaml", headers=HEADERS
    )


def _kinds(text: str) -> tuple[KindName, ...]:
    return tuple(sorted({KindName.parse(it) for it in text.split(",") if it}))


def _features(text: str) -> frozenset[InstallFeature]:
    words = [it for it in text.split(",") if it]
    unknown = [it for it in words if it not in set(InstallFeature)]
    if unknown:
        raise invalid("features", f"expected some of: {', '.join(InstallFeature)}", rule="one-of")
    return frozenset(InstallFeature(it) for it in words)


def _service_url(call: ApiCall) -> str:
    public = call.use(PUBLIC_URL)
    return public or f"{call.request.scheme}://{call.request.host}"


def _version() -> str:
    try:
        return version("plumbline")
    except PackageNotFoundError:
        return "0.1.0"


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/agents/{id}/manifest",
        needs=Permission.AGENT_VIEW,
        handler=get_manifest,
        takes=ManifestQuery,
        media="application/yaml",
    ),
)
