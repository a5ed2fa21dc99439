"""An agent enrols once with a token, and opens each session with its key.

    POST /api/v1/link/enrol      Enrol -> Enrolled           the one-time token is burnt
    POST /api/v1/link/challenge  {agent} -> Challenge        a nonce, for a minute
    POST /api/v1/link/session    SessionRequest -> Session   proof of possession; 15 minutes
    GET  /api/v1/link            WebSocket, `Authorization: Bearer {session token}`, and since
                                 protocol 2 `GitOps-Link-Proof: {key id} {signature}`

A token opens one connection. Since protocol 2 it is only half of what opens it: the agent signs the
session's nonce for this connection, so that a token that was seen, or made, by somebody else opens
nothing.

The keys are made in the cluster and stay there: Ed25519 to sign, X25519 to receive sealed boxes.
"""

from __future__ import annotations

from bus.link.wire import WireValue

PROOF_HEADER = "GitOps-Link-Proof"


class Enrol(WireValue, frozen=True, kw_only=True):
    token: str
    public_key: str
    """Ed25519, raw, base64."""
    sealing_key: str
    """X25519, raw, base64."""
    cluster_uid: str
    """UID of the namespace kube-system."""
    version: str
    proof: str
    """Signature over `proof("enrol", token)`: who enrols holds the key."""


class Enrolled(WireValue, frozen=True, kw_only=True):
    account: str
    agent: str
    key_id: str


class Challenge(WireValue, frozen=True, kw_only=True):
    nonce: str
    expires_at: float


class SessionRequest(WireValue, frozen=True, kw_only=True):
    account: str
    agent: str
    key_id: str
    nonce: str
    signature: str
    """Over `proof("session", nonce)`."""
    protocol: int = 1
    """The newest that the agent speaks: from 2 on it proves each connection."""
    next_public_key: str = ""
    """Rotation: valid beside the old key from now on, alone after its first use."""


class AgentSession(WireValue, frozen=True, kw_only=True):
    token: str
    expires_at: float
    """By the service's clock, which need not be the agent's."""
    seconds: float = 0.0
    """So long it holds from now on; 0: a service that does not say."""
    key_id: str
    nonce: str = ""
    """For `connection_proof`; empty: a service that asks for none."""


def connection_proof(account: str, agent: str, key_id: str, nonce: str) -> bytes:
    """What an agent signs for one connection: it serves nobody else, nowhere else, never again."""
    return proof("connect", f"{account}/{agent}\n{key_id}\n{nonce}")


def proof(purpose: str, text: str) -> bytes:
    """What is signed: bound to its purpose, so that no signature serves another."""
    return f"gitops-house link {purpose}\n{text}".encode()
