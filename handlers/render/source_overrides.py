"""Source overrides: `.argocd-source.yaml` and `.argocd-source-<app>.yaml` beside the manifests.

As image updaters write them: the fields of a source at the top level, each file a JSON merge patch
over the source of the Application, that of the application itself last. The repository, the place
in it and the names by which other sources know it stay those of the spec. Argo CD passes over what
it does not know in such a file; here the render is refused, because somebody meant something by it.

The files are read in the sandbox, as everything that a tenant wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from bus.status import Reason
from handlers.application.patch import patched
from handlers.application.plugin_source import plugin_problems
from handlers.application.source_address import passes_credentials
from handlers.application.spec import Source
from handlers.application.unknown_fields import unknown_fields
from handlers.application.unsupported import Unsupported
from handlers.application.unsupported_fields import unsupported_of_source
from handlers.ports import CommitTree, Renderer
from handlers.ports.rendering import RenderError
from handlers.render.source_type import folder_of, override_files

LARGEST = 64 * 1024
_RESTORED = ("repoURL", "path", "chart", "targetRevision", "ref", "name", "tagPrefix")
_PLACE = "`.argocd-source`"
_BLOCKS = ("helm", "kustomize", "directory", "plugin")


async def effective_source(
    source: Source, tree: CommitTree, identity: str, *, renderer: Renderer, project: str
) -> Source:
    """Merge the override files over the source; raises RenderError and RendererBusyError."""
    merged = source
    for file in override_files(folder_of(source, tree), identity, tree):
        if file.size > LARGEST:
            text = f"{file.path} has {file.size} bytes; at most {LARGEST} are read"
            raise RenderError(Reason.OUTPUT_TOO_LARGE, text, file=file.path)
        document = await renderer.document(tree.read(file.oid), file=file.path, project=project)
        merged = overridden(merged, document, file.path)
    return merged


def overridden(source: Source, document: object, file: str) -> Source:
    """Merge one override file over a source; raises RenderError, which names the file."""
    if document is None:
        return source
    if not isinstance(document, Mapping):
        raise _refused(file, "expected the fields of a source, as `helm:` or `kustomize:`")
    patch = {name: value for name, value in document.items() if name not in _RESTORED}
    wrong = unknown_fields("Application", {"spec": {"source": patch}})
    for one in wrong:
        field = one.path.removeprefix("spec.source.")
        raise _refused(file, f"this version knows no field {field!r}{one.hint}; correct it")
    if b"ARGOCD_APP_REVISION" in msgspec.json.encode(patch):
        raise _refused(file, "$ARGOCD_APP_REVISION is possible in the spec only; write it there")
    return _checked(source, patch, file)


_IN_SPEC_ONLY = "it is the spec of the Application that says where a login goes"


def unsupported_of_overrides(written: Source, merged: Source) -> tuple[str, ...]:
    """Say which fields of the override files are not acted on; those of the spec say it there."""
    known = {one.message for one in unsupported_of_source(written, _PLACE)}
    found = [one.message for one in unsupported_of_source(merged, _PLACE)]
    if passes_credentials(merged) and not passes_credentials(written):
        text = f"{_PLACE}.helm.passCredentials"
        found.append(Unsupported(field=text, consequence=_IN_SPEC_ONLY).message)
    return tuple(one for one in found if one not in known)


def _checked(source: Source, patch: Mapping[str, Any], file: str) -> Source:
    written = msgspec.to_builtins(source)
    try:
        merged = msgspec.convert(patched(written, patch), Source)
    except msgspec.ValidationError as error:
        raise _refused(file, str(error)) from error
    blocks = [name for name in _BLOCKS if getattr(merged, name) is not None]
    if len(blocks) > 1:
        raise _refused(
            file,
            f"with the spec it has {' and '.join(blocks)}; one of helm, kustomize, "
            "directory and plugin is possible",
        )
    for problem in plugin_problems(merged.plugin) if merged.plugin else ():
        raise _refused(file, problem.removeprefix("spec.source."))
    return merged


def _refused(file: str, why: str) -> RenderError:
    return RenderError(Reason.INVALID_SPEC, f"{file} overrides the source: {why}", file=file)
