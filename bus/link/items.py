"""Items are the ordered entries of the agent's outbox.

Three kinds: the *state* of an object (the newest per object is enough), a *fact* (never merged),
and what became of a *task* (never merged). `before` is the sequence of the item that stood before
this one when it was read: a merged state leaves a hole in the sequences, never in the chain.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from bus.events import Commit
from bus.link.wire import WireValue
from bus.status import Cause


class ItemKind(StrEnum):
    STATE = "state"
    FACT = "fact"
    TASK = "task"


class LinkItem(WireValue, frozen=True, kw_only=True):
    """`type`: `application.v1` for states, a fact's own wire type, `progress.v1`, `result.v1`."""

    sequence: int
    """Position in the outbox of this epoch; 0 in an answer to WantBodies."""
    before: int
    kind: ItemKind
    type: str
    id: str
    """Of the event: equal ids are one event, however often they arrive."""
    subject: str
    """What it is about: `namespace/name` of an object, the task's id."""
    time: str
    """RFC 3339, UTC, by the agent's clock."""
    project: str = ""
    correlation: str = ""
    uid: str = ""
    """Of the Kubernetes object: a recreated one is another object."""
    hash: str = ""
    """Of the meaningful content of a state (sha256, hex); see digest.py."""
    deleted: bool = False
    """A tombstone: the object is gone from the cluster."""
    body: msgspec.Raw = msgspec.Raw(b"{}")


class StateBody(WireValue, frozen=True, kw_only=True):
    """What a state says of an object: redacted, with volatile fields taken out of the hash only."""

    kind: str
    """`Application`, `AppProject`, `Instances` (of an Application, by its subject), `Repository`,
    `RepositoryCredentials`, `Cluster`, `RepositoryCertificate`, `GnuPGKey`, `Component`. A service
    keeps others as they are.
    """
    namespace: str
    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}
    cause: Cause | None = None
    """Why an Application is not healthy; agents before this field leave it out."""
    edit_version: str = ""
    """Of an Application or AppProject: the digest of what people edit (spec, labels, annotations),
    as reported. It stays equal when only the status changes; agents before this field leave it out.
    Of a repository, credentials or cluster: the resourceVersion of the Secret.
    """
    commits: dict[str, Commit] = {}
    """Of an Application, by revision: what runs and what is wanted, as far as the agent can read
    them; agents before this field leave it out.
    """
