"""Hooks: which objects are hooks, and of which phases, by Argo CD's or Helm's annotations. Pure.

If an object has any Argo CD hook type, Helm's are ignored. A hook whose types have no meaning here
(a misspelt word, Helm's test and rollback) is of no phase: neither applied nor compared.
`crd-install` is no hook at all.

A hook that is applied carries two marks. The finalizer keeps it in the cluster until its end was
seen. The annotation names the try of the operation that applied it, so that the hook is known again
after a crash, and is not mistaken for one of an earlier sync.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from handlers.manifest.access import Manifest, annotation_words, finalizers, mapping

HOOK = "argocd.argoproj.io/hook"
HOOK_DELETE_POLICY = "argocd.argoproj.io/hook-delete-policy"
HOOK_FINALIZER = "argocd.argoproj.io/hook-finalizer"
HOOK_RUN = "plumbline.dev/hook-run"
HELM_HOOK = "helm.sh/hook"
HELM_HOOK_DELETE_POLICY = "helm.sh/hook-delete-policy"


class HookPhase(StrEnum):
    PRE_SYNC = "PreSync"
    SYNC = "Sync"
    POST_SYNC = "PostSync"
    SYNC_FAIL = "SyncFail"
    PRE_DELETE = "PreDelete"
    POST_DELETE = "PostDelete"


class HookDeletePolicy(StrEnum):
    BEFORE_HOOK_CREATION = "BeforeHookCreation"
    HOOK_SUCCEEDED = "HookSucceeded"
    HOOK_FAILED = "HookFailed"


class Hook(msgspec.Struct, frozen=True):
    """`phases` is empty for an object that is set aside: `Skip`, or a type without a meaning."""

    phases: tuple[HookPhase, ...]
    delete_policies: tuple[HookDeletePolicy, ...] = (HookDeletePolicy.BEFORE_HOOK_CREATION,)


_SKIP = "Skip"
_OWN = {phase.value: phase for phase in HookPhase}
_HELM = {
    "pre-install": HookPhase.PRE_SYNC,
    "pre-upgrade": HookPhase.PRE_SYNC,
    "post-install": HookPhase.POST_SYNC,
    "post-upgrade": HookPhase.POST_SYNC,
    "pre-delete": HookPhase.PRE_DELETE,
    "post-delete": HookPhase.POST_DELETE,
}
_POLICIES = {policy.value: policy for policy in HookDeletePolicy} | {
    "before-hook-creation": HookDeletePolicy.BEFORE_HOOK_CREATION,
    "hook-succeeded": HookDeletePolicy.HOOK_SUCCEEDED,
    "hook-failed": HookDeletePolicy.HOOK_FAILED,
}


def hook_of(manifest: Manifest) -> Hook | None:
    """The hook of an object; None for an ordinary object."""
    own = annotation_words(manifest, HOOK)
    if any(word in _OWN or word == _SKIP for word in own):
        phases = tuple(_OWN[word] for word in own if word in _OWN)
        return Hook(phases, _delete_policies(manifest))
    helm = annotation_words(manifest, HELM_HOOK)
    if "crd-install" in helm or not (own or helm):
        return None
    phases = tuple(dict.fromkeys(_HELM[word] for word in helm if word in _HELM))
    return Hook(phases, _delete_policies(manifest))


def phases_of(manifest: Manifest) -> tuple[HookPhase, ...]:
    """Return the phases in which the object is a hook; none for an ordinary object."""
    hook = hook_of(manifest)
    return hook.phases if hook else ()


def is_hook(manifest: Manifest) -> bool:
    return hook_of(manifest) is not None


def is_skipped(manifest: Manifest) -> bool:
    """Whether the object is neither applied nor compared, in any phase."""
    hook = hook_of(manifest)
    return hook is not None and not hook.phases


def is_held(manifest: Manifest) -> bool:
    """Whether the finalizer of hooks keeps the object in the cluster."""
    return HOOK_FINALIZER in finalizers(manifest)


def held(manifest: Manifest, run: str) -> dict[str, Any]:
    """Copy a hook with its finalizer, and with the mark of the run that applies it."""
    metadata = mapping(manifest, "metadata")
    return {
        **manifest,
        "metadata": {
            **metadata,
            "annotations": {**mapping(metadata, "annotations"), HOOK_RUN: run},
            "finalizers": list(dict.fromkeys((*finalizers(manifest), HOOK_FINALIZER))),
        },
    }


def _delete_policies(manifest: Manifest) -> tuple[HookDeletePolicy, ...]:
    words = (
        *annotation_words(manifest, HOOK_DELETE_POLICY),
        *annotation_words(manifest, HELM_HOOK_DELETE_POLICY),
    )
    policies = dict.fromkeys(_POLICIES[word] for word in words if word in _POLICIES)
    return tuple(policies) or (HookDeletePolicy.BEFORE_HOOK_CREATION,)
