"""The manifest of an artifact, and the one layer that holds its files. Pure.

As in Argo CD a manifest has at most ten layers, and exactly one of them is content: a tar, packed
or not, of whatever vendor (Flux's among them), or for a Helm chart the layer of the chart. An index
of several manifests is refused, as nothing says which of them is meant.
"""

from __future__ import annotations

import re

import msgspec

MANIFEST_TYPES = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
CHART_CONFIG = "application/vnd.cncf.helm.config.v1+json"
_CHART = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
_ARCHIVES = (".tar", ".tar+gzip", ".tar.gzip", ".tar.gz", ".tgz")
_MOST_LAYERS = 10
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class ArtifactError(ValueError):
    """The artifact is none that can be read; the message says why."""


class Descriptor(msgspec.Struct, frozen=True, rename="camel"):
    media_type: str
    digest: str = ""
    size: int = 0


class Manifest(msgspec.Struct, frozen=True, rename="camel"):
    config: Descriptor | None = None
    layers: tuple[Descriptor, ...] | None = None
    manifests: tuple[Descriptor, ...] | None = None

    @property
    def is_chart(self) -> bool:
        return self.config is not None and self.config.media_type == CHART_CONFIG


def is_digest(text: str) -> bool:
    return _DIGEST.fullmatch(text) is not None


def manifest_of(content: bytes) -> Manifest:
    """Decode a manifest; raises ArtifactError."""
    try:
        return msgspec.json.decode(content, type=Manifest)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ArtifactError(f"its manifest cannot be read ({error})") from error


def content_layer(manifest: Manifest) -> Descriptor:
    """Choose the layer of the files; raises ArtifactError."""
    if manifest.manifests:
        raise ArtifactError("it is an index of several manifests; name one of them by its digest")
    layers = manifest.layers or ()
    if len(layers) > _MOST_LAYERS:
        raise ArtifactError(f"it has {len(layers)} layers; expected at most {_MOST_LAYERS}")
    found = [one for one in layers if _is_content(one.media_type, is_chart=manifest.is_chart)]
    if len(found) != 1:
        types = ", ".join(one.media_type[:100] for one in layers) or "none"
        text = f"it has {len(found)} layers with files; expected one tar (its layers: {types})"
        raise ArtifactError(text)
    if not is_digest(found[0].digest):
        raise ArtifactError(f"its layer has the digest {found[0].digest[:100]!r}; expected sha256")
    return found[0]


def _is_content(media_type: str, *, is_chart: bool) -> bool:
    return media_type == _CHART if is_chart else media_type.endswith(_ARCHIVES)
