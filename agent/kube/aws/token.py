"""AwsAuth is the login to a cluster of EKS: a signed question to STS, sent as a bearer token.

The API server asks STS this question and learns who signed it. The name of the cluster is part of
what is signed, so a token is of use in its own cluster only.
"""

from __future__ import annotations

import os
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from agent.kube.aws.credentials import find_credentials, security_token_service
from agent.kube.aws.signature import AwsCredentials
from agent.kube.connection_config import AuthHeaders
from agent.kube.renewed_token import RenewedToken

_PREFIX = "k8s-aws-v1."
_KEPT = timedelta(minutes=10)
"""The API server takes a token for 15 minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsAuth:
    """The auth kind `awsAuthConfig`."""

    cluster: str
    role: str = ""
    """The role to assume; empty: the agent's own."""

    def headers(self, server: str) -> AuthHeaders:  # noqa: ARG002  part of the protocol
        return RenewedToken(self._renewed)

    async def _renewed(self) -> tuple[str, datetime]:
        environment = dict(os.environ)
        found = await find_credentials(environment, self.role)
        token = token_of(self.cluster, found, environment)
        end = datetime.now(UTC) + _KEPT
        return token, end if found.until is None else min(end, found.until)


def token_of(cluster: str, credentials: AwsCredentials, environment: Mapping[str, str]) -> str:
    """Make the token by which the API server of the cluster knows the holder of the credentials."""
    service = security_token_service(environment)
    query = {"Action": "GetCallerIdentity"}
    url = service.url(query, credentials, {"x-k8s-aws-id": cluster})
    return _PREFIX + urlsafe_b64encode(url.encode()).decode().rstrip("=")
