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

from dataclasses import dataclass, field

from agent.kube.cluster_auth import ClusterAuth, ClusterTls, NoAuth
from agent.kube.cluster_config import (
    NO_PERMITS,
    LoginPermits,
    SecretData,
    auth_of,
    config_of,
    proxy_of,
    tls_of,
    wrong,
)
from handlers.application.destination import (
    IN_CLUSTER_NAME,
    IN_CLUSTER_SERVER,
    DestinationCluster,
    DestinationError,
    RegisteredCluster,
    canonical_server,
)

_MOST_NAMESPACES = 1000


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


def identity_of(secret: SecretData) -> DestinationCluster:
    """Read which cluster the Secret is about; raises ClusterSecretError."""
    try:
        server = canonical_server(secret.data.get("server", "").strip())
    except DestinationError as error:
        raise wrong(secret, "server", str(error)) from None
    name = secret.data.get("name", "").strip()
    if server == IN_CLUSTER_SERVER:
        return DestinationCluster(server=server, name=name or IN_CLUSTER_NAME)
    if name == IN_CLUSTER_NAME:
        text = f"{name!r} is the name of the agent's own cluster; expected another one"
        raise wrong(secret, "name", text)
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


def read_cluster_secret(secret: SecretData, permits: LoginPermits = NO_PERMITS) -> ClusterSecret:
    """Read the Secret; raises ClusterSecretError."""
    registered, config = registered_of(secret), config_of(secret)
    return ClusterSecret(
        secret=f"{secret.namespace}/{secret.name}",
        registered=registered,
        auth=auth_of(secret, config, registered.cluster.server, permits),
        tls=tls_of(secret, config.tls_client_config),
        proxy=proxy_of(secret, config.proxy_url),
    )


def _namespaces(secret: SecretData) -> tuple[str, ...]:
    words = (word.strip() for word in secret.data.get("namespaces", "").split(","))
    found = tuple(dict.fromkeys(word for word in words if word))
    if len(found) > _MOST_NAMESPACES:
        raise wrong(secret, "namespaces", f"more than {_MOST_NAMESPACES} namespaces")
    return found
