"""Argo CD's build environment: `$ARGOCD_APP_NAME` and friends inside of what a person wrote.

A value that names the revision makes each commit a recipe of its own; `names_revision` tells such
sources, because their read set alone does not say whether a render is up to date.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from bus.identity import Revision
from handlers.application.application import Application
from handlers.application.spec import Source

Environment = Mapping[str, str]

_VARIABLE = re.compile(r"\$(?:(\$)|\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")


def build_environment(
    app: Application, revision: Revision, kube_version: str, api_versions: tuple[str, ...]
) -> Environment:
    source = app.source or Source(repo_url="")
    return {
        "ARGOCD_APP_NAME": app.metadata.name,
        "ARGOCD_APP_NAMESPACE": app.spec.destination.namespace,
        "ARGOCD_APP_PROJECT_NAME": app.spec.project,
        "ARGOCD_APP_REVISION": revision,
        "ARGOCD_APP_REVISION_SHORT": revision[:7],
        "ARGOCD_APP_REVISION_SHORT_8": revision[:8],
        "ARGOCD_APP_SOURCE_PATH": source.path,
        "ARGOCD_APP_SOURCE_REPO_URL": source.repo_url,
        "ARGOCD_APP_SOURCE_TARGET_REVISION": source.target_revision,
        "KUBE_VERSION": kube_version,
        "KUBE_API_VERSIONS": ",".join(api_versions),
    }


def substitute(text: str, environment: Environment) -> str:
    """`$X` and `${X}` by their values, unknown ones by nothing; `$$` is a dollar."""
    if "$" not in text:
        return text
    return _VARIABLE.sub(lambda found: _value(found, environment), text)


def names_revision(source: Source) -> bool:
    """Whether the source's own text depends on the commit. Asked of every application by a push."""
    if source.helm is None and source.kustomize is None:
        return False
    written = (block for block in (source.helm, source.kustomize) if block is not None)
    return any(b"ARGOCD_APP_REVISION" in msgspec.json.encode(block) for block in written)


def _value(found: re.Match[str], environment: Environment) -> str:
    dollar, braced, plain = found.groups()
    return "$" if dollar else environment.get(braced or plain, "")
