"""Signatures of artifacts, as cosign stores them beside an artifact in its registry.

The tag `sha256-<digest>.sig` is an image whose layers are payloads, each with its signature in an
annotation. A payload names the digest that was signed; the name of the image in it is not compared,
as with `cosign verify`. Nothing of a registry is believed but a signature by a key that is known.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDSA,
    SECP256R1,
    EllipticCurvePublicKey,
)
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from agent.download.failures import DownloadServer
from agent.oci.manifest import is_digest
from agent.oci.registry import AbsentError, Registry
from bus.identity import Digest
from bus.status import Reason
from handlers.application.artifact_signers import Signers, public_keys_of
from handlers.ports import RepositoryError

_LAYER = "application/vnd.dev.cosign.simplesigning.v1+json"
_SIGNATURE = "dev.cosignproject.cosign/signature"
_TYPE = "cosign container image signature"
_PAYLOAD_BYTES = 64 * 1024
_MOST = 20
"""Signatures of one artifact that are looked at."""


class _Layer(msgspec.Struct, frozen=True, rename="camel"):
    media_type: str
    digest: str = ""
    annotations: dict[str, str] = {}


class _SignatureManifest(msgspec.Struct, frozen=True):
    layers: tuple[_Layer, ...] = ()


class _Image(msgspec.Struct, frozen=True, rename="kebab"):
    docker_manifest_digest: str


class _Critical(msgspec.Struct, frozen=True):
    image: _Image
    type: str


class _Payload(msgspec.Struct, frozen=True):
    critical: _Critical


async def prove(
    registry: Registry, server: DownloadServer, digest: Digest, signers: Signers
) -> None:
    """Raise RepositoryError unless a key of each group has signed the manifest of this digest."""
    left = [keys for group in signers if (keys := public_keys_of(group))]
    if not all(signers):
        raise _unproven(server, digest, "the AppProject's demand cannot be understood")
    if len(left) != len(signers):
        cause = "the AppProject names GnuPG keys only, which count for charts read over HTTP"
        raise _unproven(server, digest, cause)
    found = 0
    for layer in await _layers(registry, server, digest):
        payload = await _payload(registry, server, layer)
        signature = layer.annotations[_SIGNATURE]
        if not names(payload, digest):
            continue
        found += 1
        left = [keys for keys in left if not is_signed(payload, signature, keys)]
        if not left:
            return
    count = f"{found} signatures" if found != 1 else "one signature"
    raise _unproven(server, digest, f"it has {count}, none by a key that the AppProject names")


async def _layers(registry: Registry, server: DownloadServer, digest: Digest) -> list[_Layer]:
    tag = f"{digest.replace(':', '-')}.sig"
    try:
        _, content = await registry.manifest(server, tag)
    except AbsentError:
        raise _unproven(server, digest, f"it has no signature (no tag {tag})") from None
    try:
        manifest = msgspec.json.decode(content, type=_SignatureManifest)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise _unproven(server, digest, f"its signatures cannot be read ({error})") from error
    return list(_of_payloads(manifest))[:_MOST]


def _of_payloads(manifest: _SignatureManifest) -> Iterator[_Layer]:
    for one in manifest.layers:
        if one.media_type == _LAYER and is_digest(one.digest) and one.annotations.get(_SIGNATURE):
            yield one


async def _payload(registry: Registry, server: DownloadServer, layer: _Layer) -> bytes:
    with TemporaryDirectory(dir=registry.folder) as folder:
        into = Path(folder) / "payload"
        await registry.blob(server, layer.digest, into, _PAYLOAD_BYTES)
        return await asyncio.to_thread(into.read_bytes)


def names(payload: bytes, digest: str) -> bool:
    """Whether what was signed is the artifact of this digest."""
    try:
        critical = msgspec.json.decode(payload, type=_Payload).critical
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    return critical.type == _TYPE and critical.image.docker_manifest_digest == digest


def is_signed(payload: bytes, signature: str, keys: tuple[str, ...]) -> bool:
    """Whether one of the keys, in PEM, has made the signature, in base64."""
    try:
        made = base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        return False
    return any(_is_by(one, payload, made) for one in keys)


def _is_by(key: str, payload: bytes, signature: bytes) -> bool:
    """A key of another kind than cosign makes has signed nothing."""
    try:
        public = load_pem_public_key(key.encode())
        if not isinstance(public, EllipticCurvePublicKey):
            return False
        if not isinstance(public.curve, SECP256R1):
            return False
        public.verify(signature, payload, ECDSA(SHA256()))
    except (InvalidSignature, UnsupportedAlgorithm, ValueError):
        return False
    return True


def _unproven(server: DownloadServer, digest: str, cause: str) -> RepositoryError:
    remedy = (
        f"Sign {digest} by `cosign sign --key` with a key that the AppProject's annotation "
        "plumbline.dev/artifact-signers names, or correct the annotation"
    )
    return server.error(Reason.SOURCE_UNPROVEN, f"{digest} is not proven: {cause}", remedy)
