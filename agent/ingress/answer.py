"""What the sender of a webhook is told: JSON with what happened, and what to do where it failed."""

from __future__ import annotations

import msgspec

from agent.ingress.webhooks.receive import Outcome, Received

_REMEDY = {
    Outcome.UNAUTHORIZED: "Set the same secret at the host and in argocd-secret.",
    Outcome.MALFORMED: "Send the host's own JSON payload unchanged.",
    Outcome.UNKNOWN_PROVIDER: "Send webhooks of GitHub or GitLab to this address.",
    Outcome.TOO_LARGE: "Raise GITOPS_WEBHOOK_BODY_LIMIT; meanwhile polling finds the commit.",
    Outcome.UNAVAILABLE: "Send it again; meanwhile polling finds the commit.",
}


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`repositories` are those in use that are looked at now."""

    outcome: Outcome
    message: str
    remedy: str = ""
    delivery: str = ""
    ref: str = ""
    repositories: tuple[str, ...] = ()


def answer(received: Received, repositories: tuple[str, ...] = ()) -> Answer:
    push = received.push
    return Answer(
        outcome=received.outcome,
        message=received.message,
        remedy=_REMEDY.get(received.outcome, ""),
        delivery=push.delivery if push else "",
        ref=push.ref if push else "",
        repositories=repositories,
    )
