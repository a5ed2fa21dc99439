"""ClusterConfig is the field `config` of a cluster's Secret: login, certificates and proxy.

The kinds of login have Argo CD's precedence: AWS, exec plugin, then password or token. A plugin and
the agent's identity at AWS are the agent's owner's to lend: LoginPermits says for what. What is
wrong is a ClusterSecretError that names Secret and field and quotes no value.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

import msgspec

from agent.kube.aws.token import AwsAuth
from agent.kube.cluster_auth import BasicAuth, BearerAuth, ClusterAuth, ClusterTls, NoAuth
from agent.kube.exec_plugin import EXEC_VERSIONS, ExecPlugin
from agent.kube.socks import SOCKS

_LARGEST_CONFIG = 256 * 1024
_PROXIES = ("http", "https", SOCKS)
_PLUGIN_ENV = frozenset(
    {"AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_STS_REGIONAL_ENDPOINTS"}
)
"""Variables that a Secret may set; others could run another program, or send a token elsewhere."""
_EKS_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,99}")
_ROLE = re.compile(r"arn:aws[a-z-]*:iam::[0-9]{12}:role/[\w+=,.@/-]{1,512}", re.ASCII)
_OWN_PROFILE = (
    "profiles are not read; give the agent's pod a role, by IAM roles for service accounts or EKS "
    "Pod Identity, and name another one as roleARN"
)


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
class LoginPermits:
    """What the agent's owner lets Secrets of clusters do with the agent."""

    commands: tuple[str, ...] = ()
    """Commands of credential plugins, with all their arguments; `*` for one that may be any."""
    aws_clusters: tuple[str, ...] = ()
    """`NAME@SERVER`, with `*`: the clusters of EKS where the agent's identity may be used."""


NO_PERMITS = LoginPermits()


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


class _AwsConfig(msgspec.Struct, frozen=True, rename="camel"):
    cluster_name: str = ""
    role_arn: str = msgspec.field(default="", name="roleARN")
    profile: str = ""


class ClusterConfig(msgspec.Struct, frozen=True, rename="camel"):
    username: str = ""
    password: str = ""
    bearer_token: str = ""
    tls_client_config: _TlsConfig = _TlsConfig()
    aws_auth_config: _AwsConfig | None = None
    exec_provider_config: _ExecConfig | None = None
    proxy_url: str = ""
    disable_compression: bool = False


def config_of(secret: SecretData) -> ClusterConfig:
    text = secret.data.get("config", "").strip() or "{}"
    if len(text) > _LARGEST_CONFIG:
        raise wrong(secret, "config", f"it has more than {_LARGEST_CONFIG} bytes")
    try:
        return msgspec.json.decode(text, type=ClusterConfig)
    except msgspec.ValidationError as error:
        raise wrong(secret, "config", _without_values(error)) from None
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        raise wrong(secret, "config", "expected a JSON object; this is no JSON") from None


def _without_values(error: msgspec.ValidationError) -> str:
    """Say what the decoder expected and where: it names types and paths, no values."""
    return f"expected Argo CD's cluster configuration: {error}"


def auth_of(
    secret: SecretData, config: ClusterConfig, server: str, permits: LoginPermits
) -> ClusterAuth:
    """Read the login, by Argo CD's precedence."""
    if config.aws_auth_config is not None:
        return _aws(secret, config, config.aws_auth_config, server, permits)
    if config.exec_provider_config is not None:
        return _plugin(secret, config.exec_provider_config, permits.commands)
    if config.username or config.password:
        if config.bearer_token:
            text = "expected a user with password or a token, and not both"
            raise wrong(secret, "config.bearerToken", text)
        return BasicAuth(config.username, config.password)
    if not config.bearer_token:
        return NoAuth()
    if not config.bearer_token.isascii() or any(it.isspace() for it in config.bearer_token):
        raise wrong(secret, "config.bearerToken", "a token has no spaces and only ASCII letters")
    return BearerAuth(config.bearer_token)


def _aws(
    secret: SecretData, config: ClusterConfig, aws: _AwsConfig, server: str, permits: LoginPermits
) -> ClusterAuth:
    """Read the login to EKS. Its token would be of use to whoever answers in the cluster's place.

    So neither may the Secret lead the connection astray, nor name a cluster and server that the
    owner did not.
    """
    place = "config.awsAuthConfig"
    if aws.profile:
        raise wrong(secret, f"{place}.profile", _OWN_PROFILE)
    if not _EKS_NAME.fullmatch(aws.cluster_name):
        raise wrong(secret, f"{place}.clusterName", "expected the name of a cluster of EKS")
    if aws.role_arn and not _ROLE.fullmatch(aws.role_arn):
        text = "expected arn:aws:iam::ACCOUNT:role/NAME"
        raise wrong(secret, f"{place}.roleARN", text)
    if not any(_lends(one, f"{aws.cluster_name}@{server}") for one in permits.aws_clusters):
        text = (
            "the agent's identity at AWS is not lent to this cluster and server; the agent's owner "
            "may name them as NAME@SERVER in GITOPS_KUBE_AWS_CLUSTERS"
        )
        raise wrong(secret, f"{place}.clusterName", text)
    if not server.startswith("https://") or config.tls_client_config.insecure or config.proxy_url:
        text = "a login to AWS needs https, without tlsClientConfig.insecure and proxyUrl"
        raise wrong(secret, place, text)
    return AwsAuth(cluster=aws.cluster_name, role=aws.role_arn)


def _lends(allowed: str, place: str) -> bool:
    """Whether an entry of the owner is about this NAME@SERVER.

    A `*` stands for characters of names and hosts only: a path that ends like the allowed host must
    not make another host an allowed one.
    """
    parts = (re.escape(part) for part in allowed.split("*"))
    return re.fullmatch("[0-9A-Za-z._-]*".join(parts), place) is not None


def _plugin(secret: SecretData, config: _ExecConfig, commands: Sequence[str]) -> ClusterAuth:
    place = "config.execProviderConfig"
    if not any(_permits(one, (config.command, *config.args)) for one in commands):
        text = (
            "the command is not allowed to run as the agent; the agent's owner may name it in "
            "GITOPS_KUBE_EXEC_COMMANDS with all its arguments, * for one that may be anything"
        )
        raise wrong(secret, f"{place}.command", text)
    version = config.api_version or EXEC_VERSIONS[0]
    if version not in EXEC_VERSIONS:
        raise wrong(secret, f"{place}.apiVersion", f"expected one of {', '.join(EXEC_VERSIONS)}")
    if forbidden := sorted(config.env.keys() - _PLUGIN_ENV):
        text = f"these variables are the agent's owner's to set: {', '.join(forbidden)[:200]}"
        raise wrong(secret, f"{place}.env", text)
    return ExecPlugin(command=config.command, args=config.args, env=config.env, api_version=version)


def _permits(allowed: str, words: Sequence[str]) -> bool:
    """Whether an entry of the allow-list has these words; `*` stands for any one of them."""
    entry = allowed.split()
    same = len(entry) == len(words) and entry[:1] == list(words[:1])
    return same and all(one in ("*", word) for one, word in zip(entry, words, strict=True))


def tls_of(secret: SecretData, config: _TlsConfig) -> ClusterTls:
    place = "config.tlsClientConfig"
    if config.insecure and config.ca_data:
        text = "insecure and caData exclude each other: remove one of them"
        raise wrong(secret, f"{place}.insecure", text)
    if bool(config.cert_data) != bool(config.key_data):
        raise wrong(secret, f"{place}.certData", "expected certData and keyData: both or neither")
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
        raise wrong(secret, place, "expected PEM in base64; this is no base64 of it") from None
    if encoded and "-----BEGIN " not in text:
        raise wrong(secret, place, "expected PEM in base64; nothing in it begins with -----BEGIN")
    return text


def proxy_of(secret: SecretData, url: str) -> str:
    try:
        parts = urlsplit(url)
        is_known = parts.scheme in _PROXIES and bool(parts.hostname) and parts.port != 0
        usable = not url or is_known
    except ValueError:
        usable = False
    if not usable:
        text = "expected http://host:port, https://host:port or socks5://host:port"
        raise wrong(secret, "config.proxyUrl", text)
    return url


def wrong(secret: SecretData, place: str, text: str) -> ClusterSecretError:
    return ClusterSecretError(f"Secret {secret.namespace}/{secret.name}, field {place}: {text}")
