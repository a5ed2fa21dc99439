"""Sync and compare options of Applications and annotations, as typed values. Pure.

An option is exactly `Key=value`, as in Argo CD. Unknown words are kept in `unknown`, so that they
can be reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any

import msgspec

from handlers.manifest.access import Manifest, annotation, annotation_words

SYNC_OPTIONS = "argocd.argoproj.io/sync-options"
COMPARE_OPTIONS = "argocd.argoproj.io/compare-options"
HELM_RESOURCE_POLICY = "helm.sh/resource-policy"


class Consent(StrEnum):
    """Whether an object may be removed."""

    YES = "true"
    NO = "false"
    CONFIRM = "confirm"


class Propagation(StrEnum):
    FOREGROUND = "foreground"
    BACKGROUND = "background"
    ORPHAN = "orphan"

    @property
    def policy(self) -> str:
        """As the Kubernetes API spells it."""
        return self.value.capitalize()


class SyncOptions(msgspec.Struct, frozen=True, kw_only=True):
    validate: bool = True
    skip_dry_run_on_missing_resource: bool = False
    prune: Consent = Consent.YES
    delete: Consent = Consent.YES
    prune_last: bool = False
    prune_propagation: Propagation = Propagation.FOREGROUND
    apply_out_of_sync_only: bool = False
    replace: bool = False
    force: bool = False
    server_side_apply: bool | None = None
    client_side_apply_migration: bool = True
    create_namespace: bool = False
    fail_on_shared_resource: bool = False
    respect_ignore_differences: bool = False
    unknown: tuple[str, ...] = ()
    earlier_manager: str = ""
    """A field manager besides kubectl, Helm and Argo CD whose fields a sync takes over."""

    @property
    def takes_over(self) -> bool:
        """Whether a sync takes over the fields of earlier tools.

        Argo CD migrates ownership only where it applies server-side. Its client-side apply removes
        what Git has dropped without that, so the option alone keeps no field.
        """
        return self.client_side_apply_migration or self.server_side_apply is not True


class CompareOptions(msgspec.Struct, frozen=True, kw_only=True):
    ignore_extraneous: bool = False
    server_side_diff: bool | None = None
    include_mutation_webhook: bool = False


_BOTH: dict[str, bool] = {"true": True, "false": False}
_READ: dict[str, tuple[str, Callable[[str], Any]]] = {
    "Validate": ("validate", _BOTH.__getitem__),
    "SkipDryRunOnMissingResource": ("skip_dry_run_on_missing_resource", _BOTH.__getitem__),
    "Prune": ("prune", Consent),
    "Delete": ("delete", Consent),
    "PruneLast": ("prune_last", _BOTH.__getitem__),
    "PrunePropagationPolicy": ("prune_propagation", Propagation),
    "ApplyOutOfSyncOnly": ("apply_out_of_sync_only", _BOTH.__getitem__),
    "Replace": ("replace", _BOTH.__getitem__),
    "Force": ("force", _BOTH.__getitem__),
    "ServerSideApply": ("server_side_apply", _BOTH.__getitem__),
    "ClientSideApplyMigration": ("client_side_apply_migration", _BOTH.__getitem__),
    "CreateNamespace": ("create_namespace", _BOTH.__getitem__),
    "FailOnSharedResource": ("fail_on_shared_resource", _BOTH.__getitem__),
    "RespectIgnoreDifferences": ("respect_ignore_differences", _BOTH.__getitem__),
}
_FIRST_COUNTS = frozenset({"prune", "delete"})
_ON_RESOURCES = frozenset(
    {
        "Validate",
        "SkipDryRunOnMissingResource",
        "Prune",
        "Delete",
        "PruneLast",
        "Replace",
        "Force",
        "ServerSideApply",
    }
)


def parse_sync_options(written: Iterable[str], base: SyncOptions | None = None) -> SyncOptions:
    """The options laid over `base`; of `Prune` and `Delete` the first counts, else the last."""
    base = base or SyncOptions()
    known: dict[str, Any] = {}
    unknown: list[str] = list(base.unknown)
    for word in written:
        key, _, value = word.strip().partition("=")
        try:
            field, read = _READ[key]
            meaning = read(value)
            if field not in _FIRST_COUNTS or field not in known:
                known[field] = meaning
        except (KeyError, ValueError):
            unknown.append(word.strip())
    return msgspec.structs.replace(base, **known, unknown=tuple(dict.fromkeys(unknown)))


def weakened(options: SyncOptions, written: Iterable[str]) -> tuple[str, ...]:
    """Name the safeguards that `written` weakens if it replaces `options`.

    An option that is left out falls back to its default, which may be weaker too.
    """
    new = parse_sync_options(written)
    changed = (
        ("Validate", options.validate and not new.validate),
        ("Replace", new.replace and not options.replace),
        ("Force", new.force and not options.force),
        ("Prune", new.prune is Consent.YES and options.prune is not Consent.YES),
        ("FailOnSharedResource", options.fail_on_shared_resource > new.fail_on_shared_resource),
        (
            "RespectIgnoreDifferences",
            options.respect_ignore_differences > new.respect_ignore_differences,
        ),
    )
    return tuple(name for name, weaker in changed if weaker)


def is_object_option(word: str) -> bool:
    """Whether the option has a meaning in the annotation of one object."""
    return word.partition("=")[0] in _ON_RESOURCES


def sync_options_of(manifest: Manifest, app: SyncOptions) -> SyncOptions:
    """The options of one object, which override those of the application."""
    words = annotation_words(manifest, SYNC_OPTIONS)
    allowed = [word for word in words if is_object_option(word)]
    options = parse_sync_options(allowed, app) if allowed else app
    if annotation(manifest, HELM_RESOURCE_POLICY) == "keep":
        return msgspec.structs.replace(options, delete=Consent.NO)
    return options


def with_live_options(options: SyncOptions, desired: Manifest, live: Manifest) -> SyncOptions:
    """Honour `Replace=true` and `Force=true` of the live object too, as Argo CD does.

    What the desired object says of Replace goes before what the live one says.
    """
    asked = annotation_words(live, SYNC_OPTIONS)
    written = annotation_words(desired, SYNC_OPTIONS)
    decided = any(word.startswith("Replace=") for word in written)
    return msgspec.structs.replace(
        options,
        replace=options.replace or ("Replace=true" in asked and not decided),
        force=options.force or "Force=true" in asked,
    )


def compare_options_of(manifest: Manifest) -> CompareOptions:
    words = annotation_words(manifest, COMPARE_OPTIONS)
    values = dict(word.partition("=")[::2] for word in words)
    return CompareOptions(
        ignore_extraneous="IgnoreExtraneous" in words,
        server_side_diff=_BOTH.get(values.get("ServerSideDiff", "")),
        include_mutation_webhook=values.get("IncludeMutationWebhook") == "true",
    )
