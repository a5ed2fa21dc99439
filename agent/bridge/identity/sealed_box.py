"""Sealed boxes: credentials encrypted for this agent's key, which the service cannot read.

A box is libsodium's `crypto_box_seal` (X25519) in base64, around a JSON object of the fields that
Argo CD has for the kind. It must name its address (`url` or `server`), so that nobody who passes
the box on can use its credential elsewhere. Anybody may seal a box, so a box may hold a credential
and nothing else: no proxy, no disabled certificate check, no program to run, no cloud identity of
the agent. Nothing of a box is logged, and no error quotes its content.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Literal

import msgspec
from nacl.exceptions import CryptoError
from nacl.public import PrivateKey, SealedBox

LARGEST = 128 * 1024
FIELDS = frozenset(
    {
        "username",
        "password",
        "bearerToken",
        "sshPrivateKey",
        "tlsClientCertData",
        "tlsClientCertKey",
        "githubAppID",
        "githubAppInstallationID",
        "githubAppPrivateKey",
        "githubAppEnterpriseBaseUrl",
        "gcpServiceAccountKey",
        "azureServicePrincipalClientId",
        "azureServicePrincipalClientSecret",
        "azureServicePrincipalTenantId",
        "azureActiveDirectoryEndpoint",
        "config",
    }
)
_ADDRESSES = ("url", "server")


class _Tls(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    insecure: Literal[False] | None = None
    server_name: str = ""
    ca_data: str = ""
    cert_data: str = ""
    key_data: str = ""


class _Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    username: str = ""
    password: str = ""
    bearer_token: str = ""
    tls_client_config: _Tls = _Tls()


class SealedBoxError(Exception):
    """The box is not sealed for this agent, or its content is not allowed."""


def opened(
    sealed: str, key: PrivateKey, address: str, canonical: Callable[[str], str]
) -> Mapping[str, str]:
    """Open the box and return its fields; raises SealedBoxError.

    `address` is canonical; `canonical` converts other spellings, or raises ValueError.
    """
    fields = _fields(_plain(sealed, key))
    named = next((fields[name] for name in _ADDRESSES if name in fields), "")
    try:
        fits = canonical(named) == address
    except ValueError:
        fits = False
    if not fits:
        raise SealedBoxError("the box does not name the address it is used for as its url")
    kept = {name: value for name, value in fields.items() if name not in _ADDRESSES}
    unknown = sorted(set(kept) - FIELDS)
    if unknown:
        raise SealedBoxError(f"the box holds {len(unknown)} fields that are no credential's")
    if "config" in kept:
        _check_config(kept["config"])
    return kept


def _check_config(text: str) -> None:
    if not is_login(text):
        raise SealedBoxError(
            "config holds more than username, password, bearerToken and tlsClientConfig with"
            " serverName, caData, certData, keyData: its other fields are the cluster owner's"
        )


def is_login(config: str) -> bool:
    """Whether the config of a cluster holds a login, certificates and keys, and nothing else."""
    try:
        msgspec.json.decode(config, type=_Config)
    except msgspec.MsgspecError:
        return False
    return True


def _plain(sealed: str, key: PrivateKey) -> bytes:
    if len(sealed) > LARGEST:
        raise SealedBoxError(f"the box has more than {LARGEST} bytes")
    try:
        return SealedBox(key).decrypt(base64.b64decode(sealed, validate=True))
    except (binascii.Error, ValueError, CryptoError):
        raise SealedBoxError(
            "the box cannot be opened: was it sealed to this agent's key?"
        ) from None


def _fields(plain: bytes) -> dict[str, str]:
    try:
        return msgspec.json.decode(plain, type=dict[str, str])
    except msgspec.MsgspecError:
        raise SealedBoxError("the box holds no JSON object of texts") from None
