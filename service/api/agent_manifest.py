"""`GET /agents/{id}/manifest`: how to install this agent, for what was chosen in the wizard."""

from __future__ import annotations

from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import msgspec
from aiohttp import web

from service.access.permissions import Permission
from service.api import agents
from service.api.call import Call
from service.api.endpoint import Endpoint, Given
from service.api.fields import Name
from service.api.install.options import Feature, KindName, Options, Profile, Scope
from service.api.install.render import as_helm, as_kustomize, as_yaml
from service.api.problem import invalid
from service.api.serve import HEADERS

_HOST = r"^[A-Za-z0-9]([A-Za-z0-9._/:-]{0,250}[A-Za-z0-9])?$"
_PROXY = r"^https?://[A-Za-z0-9.\[\]:-]{1,250}/?$"
_WORD = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_KINDS = rf"^{_WORD}(\.{_WORD})*(,{_WORD}(\.{_WORD})*)*$"
Object = Annotated[
    str, msgspec.Meta(max_length=253, pattern=r"^([a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$")
]


class Format(StrEnum):
    YAML = "yaml"
    HELM = "helm"
    KUSTOMIZE = "kustomize"


class ManifestQuery(Given, frozen=True, kw_only=True):
    """A proxy with a user and password is refused: name a Secret in the agent's environment."""

    format: Format = Format.YAML
    namespace: Name = "argocd"
    scope: Scope = Scope.CLUSTER
    destination: Annotated[
        str, msgspec.Meta(max_length=63, pattern=r"^([a-z0-9]([a-z0-9-]*[a-z0-9])?)?$")
    ] = ""
    """With scope namespace: the namespace of the workloads, which is not the agent's own."""
    profile: Profile = Profile.NAMESPACED
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


async def get_manifest(call: Call, given: ManifestQuery) -> web.Response:
    """What installs this agent, with the least rights for the chosen features; holds no secret."""
    row = await agents.find(call, Permission.AGENT_VIEW)
    options = Options(
        account=call.caller.account_name,
        agent=row["name"],
        service_url=_service_url(call),
        version=_version(),
        namespace=given.namespace,
        scope=given.scope,
        destination=given.destination,
        profile=given.profile,
        kinds=_kinds(given.kinds),
        registry=given.registry,
        pull_secret=given.pull_secret,
        proxy=given.proxy,
        ca_secret=given.ca_secret,
        features=_features(given.features),
        read_only=given.read_only,
        definitions=given.definitions,
    )
    option, expected = options.problem
    if option:
        raise invalid(option, expected, rule="together")
    form = {Format.YAML: as_yaml, Format.HELM: as_helm, Format.KUSTOMIZE: as_kustomize}
    return web.Response(
        text=form[given.format](options), content_type="application/yaml", headers=HEADERS
    )


def _kinds(text: str) -> tuple[KindName, ...]:
    return tuple(sorted({KindName.parse(it) for it in text.split(",") if it}))


def _features(text: str) -> frozenset[Feature]:
    words = [it for it in text.split(",") if it]
    unknown = [it for it in words if it not in set(Feature)]
    if unknown:
        raise invalid("features", f"expected some of: {', '.join(Feature)}", rule="one-of")
    return frozenset(Feature(it) for it in words)


def _service_url(call: Call) -> str:
    public = call.tools.parts.settings.public_url
    return public or f"{call.request.scheme}://{call.request.host}"


def _version() -> str:
    try:
        return version("gitops-house")
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
