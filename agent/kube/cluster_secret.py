"""ClusterSecret: Argo CD's Secret of a destination cluster, read and checked.

    server            address of the API server: the identity of the cluster
    name              another name of it, by default the address
    config            JSON: username, password, bearerToken, tlsClientConfig, awsAuthConfig,
                      execProviderConfig, proxyUrl
    namespaces        with commas: nothing but these is watched and written
    clusterResources  `true`: objects without a namespace too, although there are `namespaces`
    project           the AppProject that alone may use the cluster

What is wrong is a ClusterSecretError that names Secret and field and quotes no value of `config`.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urlsplit

import msgspec

from agent.kube.cluster_auth import BasicAuth, BearerAuth, ClusterAuth, ClusterTls, NoAuth
from agent.kube.exec_plugin import EXEC_VERSIONS, ExecPlugin
from handlers.application.destination import (
    IN_CLUSTER_NAME,
    IN_CLUSTER_SERVER,
    DestinationCluster,
    DestinationError,
    RegisteredCluster,
    canonical_server,
)

_LARGEST_CONFIG = 256 * 1024
_MOST_NAMESPACES = 1000
_PROXIES = ("http", "https")
_PLUGIN_ENV = frozenset(
    {"AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_STS_REGIONAL_ENDPOINTS"}
)
"""Variables that a Secret may set; others could run another program, or send a token elsewhere."""


class ClusterSecretError(Exception):
    """The Secret of a cluster cannot be used; the message names the Secret and the field."""


class SecretData(Protocol):
    """A Secret, decoded."""

    @property
    def namespace(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def data(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSecret:
    """A Secret that can be used. Equal values connect in the same way."""

    secret: str
    """Its `namespace/name`."""
    registered: RegisteredCluster
    auth: ClusterAuth = field(repr=False)
    tls: ClusterTls = field(repr=False)
    proxy: str = field(default="", repr=False)

    @property
    def has_login(self) -> bool:
        return not isinstance(self.auth, NoAuth)


class _TlsConfig(msgspec.Struct, frozen=True, rename="camel"):
    insecure: bool = False
    server_name: str = ""
    ca_data: str = ""
    cert_data: str = ""
    key_data: str = ""


class _ExecConfig(msgspec.Struct, frozen=True, rename="camel"):
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    api_version: str = ""
    install_hint: str = ""


class _Config(msgspec.Struct, frozen=True, rename="camel"):
    username: str = ""
    password: str = ""
    bearer_token: str = ""
    tls_client_config: _TlsConfig = _TlsConfig()
    aws_auth_config: msgspec.Raw | None = None
    exec_provider_config: _ExecConfig | None = None
    proxy_url: str = ""
    disable_compression: bool = False


def identity_of(secret: SecretData) -> DestinationCluster:
    """Read which cluster the Secret is about; raises ClusterSecretError."""
    try:
        server = canonical_server(secret.data.get("server", "").strip())
    except DestinationError as error:
        raise _wrong(secret, "server", str(error)) from None
    name = secret.data.get("name", "").strip()
    if server == IN_CLUSTER_SERVER:
        return DestinationCluster(server=server, name=name or IN_CLUSTER_NAME)
    if name == IN_CLUSTER_NAME:
        text = f"{name!r} is the name of the agent's own cluster; expected another one"
        raise _wrong(secret, "name", text)
    return DestinationCluster(server=server, name=name or server)


def registered_of(secret: SecretData) -> RegisteredCluster:
    """Read what a cluster is limited to; raises ClusterSecretError."""
    cluster, namespaces = identity_of(secret), _namespaces(secret)
    whole = secret.data.get("clusterResources", "").strip().lower() == "true"
    return RegisteredCluster(
        cluster=cluster,
        project=secret.data.get("project", "").strip(),
        namespaces=namespaces,
        cluster_resources=whole or not namespaces,
    )


def read_cluster_secret(secret: SecretData, commands: Collection[str] = ()) -> ClusterSecret:
    """Read the Secret, with the permitted `commands` of plugins; raises ClusterSecretError."""
    registered, config = registered_of(secret), _config(secret)
    return ClusterSecret(
        secret=f"{secret.namespace}/{secret.name}",
        registered=registered,
        auth=_auth(secret, config, commands),
        tls=_tls(secret, config.tls_client_config),
        proxy=_proxy(secret, config.proxy_url),
    )


def _config(secret: SecretData) -> _Config:
    text = secret.data.get("config", "").strip() or "{}"
    if len(text) > _LARGEST_CONFIG:
        raise _wrong(secret, "config", f"it has more than {_LARGEST_CONFIG} bytes")
    try:
        return msgspec.json.decode(text, type=_Config)
    except msgspec.ValidationError as error:
        raise _wrong(secret, "config", _without_values(error)) from None
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        raise _wrong(secret, "config", "expected a JSON object; this is no JSON") from None


def _without_values(error: msgspec.ValidationError) -> str:
    """Say what the decoder expected and where: it names types and paths, no values."""
    return f"expected Argo CD's cluster configuration: {error}"


def _auth(secret: SecretData, config: _Config, commands: Collection[str]) -> ClusterAuth:
    """Choose by Argo CD's precedence: AWS, exec plugin, then password or token."""
    aws = config.aws_auth_config
    if aws is not None and bytes(aws) != b"null":
        raise _wrong(secret, "config.awsAuthConfig", "this version does not act on it yet")
    if config.exec_provider_config is not None:
        return _plugin(secret, config.exec_provider_config, commands)
    if config.username or config.password:
        if config.bearer_token:
            text = "expected a user with password or a token, and not both"
            raise _wrong(secret, "config.bearerToken", text)
        return BasicAuth(config.username, config.password)
    if not config.bearer_token:
        return NoAuth()
    if not config.bearer_token.isascii() or any(it.isspace() for it in config.bearer_token):
        raise _wrong(secret, "config.bearerToken", "a token has no spaces and only ASCII letters")
    return BearerAuth(config.bearer_token)


def _plugin(secret: SecretData, config: _ExecConfig, commands: Collection[str]) -> ClusterAuth:
    place = "config.execProviderConfig"
    if not any(_permits(one, (config.command, *config.args)) for one in commands):
        text = (
            "the command is not allowed to run as the agent; the agent's owner may name it in "
            "GITOPS_KUBE_EXEC_COMMANDS with all its arguments, * for one that may be anything"
        )
        raise _wrong(secret, f"{place}.command", text)
    version = config.api_version or EXEC_VERSIONS[0]
    if version not in EXEC_VERSIONS:
        raise _wrong(secret, f"{place}.apiVersion", f"expected one of {', '.join(EXEC_VERSIONS)}")
    if forbidden := sorted(config.env.keys() - _PLUGIN_ENV):
        text = f"these variables are the agent's owner's to set: {', '.join(forbidden)[:200]}"
        raise _wrong(secret, f"{place}.env", text)
    return ExecPlugin(command=config.command, args=config.args, env=config.env, api_version=version)


def _permits(allowed: str, words: Sequence[str]) -> bool:
    """Whether an entry of the allow-list has these words; `*` stands for any one of them."""
    entry = allowed.split()
    same = len(entry) == len(words) and entry[:1] == list(words[:1])
    return same and all(one in ("*", word) for one, word in zip(entry, words, strict=True))


def _tls(secret: SecretData, config: _TlsConfig) -> ClusterTls:
    place = "config.tlsClientConfig"
    if config.insecure and config.ca_data:
        text = "insecure and caData exclude each other: remove one of them"
        raise _wrong(secret, f"{place}.insecure", text)
    if bool(config.cert_data) != bool(config.key_data):
        raise _wrong(secret, f"{place}.certData", "expected certData and keyData: both or neither")
    return ClusterTls(
        insecure=config.insecure,
        server_name=config.server_name,
        authority=_pem(secret, f"{place}.caData", config.ca_data),
        certificate=_pem(secret, f"{place}.certData", config.cert_data),
        key=_pem(secret, f"{place}.keyData", config.key_data),
    )


def _pem(secret: SecretData, place: str, encoded: str) -> str:
    try:
        text = b64decode(encoded, validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        raise _wrong(secret, place, "expected PEM in base64; this is no base64 of it") from None
    if encoded and "-----BEGIN " not in text:
        raise _wrong(secret, place, "expected PEM in base64; nothing in it begins with -----BEGIN")
    return text


def _proxy(secret: SecretData, url: str) -> str:
    try:
        parts = urlsplit(url)
        usable = not url or (parts.scheme in _PROXIES and bool(parts.hostname))
    except ValueError:
        usable = False
    if not usable:
        text = "expected http://host:port or https://host:port; no other kind of proxy is used"
        raise _wrong(secret, "config.proxyUrl", text)
    return url


def _namespaces(secret: SecretData) -> tuple[str, ...]:
    words = (word.strip() for word in secret.data.get("namespaces", "").split(","))
    found = tuple(dict.fromkeys(word for word in words if word))
    if len(found) > _MOST_NAMESPACES:
        raise _wrong(secret, "namespaces", f"more than {_MOST_NAMESPACES} namespaces")
    return found


def _wrong(secret: SecretData, place: str, text: str) -> ClusterSecretError:
    return ClusterSecretError(f"Secret {secret.namespace}/{secret.name}, field {place}: {text}")
