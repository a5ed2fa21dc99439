"""Sync and compare options, from an application and from an object."""

import pytest

from handlers.manifest.options import (
    CompareOptions,
    Consent,
    Propagation,
    SyncOptions,
    compare_options_of,
    parse_sync_options,
    sync_options_of,
    with_live_options,
)


def annotated(**annotations: str) -> dict[str, object]:
    return {"metadata": {"annotations": annotations}}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Validate=false", SyncOptions(validate=False)),
        ("SkipDryRunOnMissingResource=true", SyncOptions(skip_dry_run_on_missing_resource=True)),
        ("Prune=false", SyncOptions(prune=Consent.NO)),
        ("Prune=confirm", SyncOptions(prune=Consent.CONFIRM)),
        ("Delete=false", SyncOptions(delete=Consent.NO)),
        ("PruneLast=true", SyncOptions(prune_last=True)),
        ("PrunePropagationPolicy=orphan", SyncOptions(prune_propagation=Propagation.ORPHAN)),
        ("ApplyOutOfSyncOnly=true", SyncOptions(apply_out_of_sync_only=True)),
        ("Replace=true", SyncOptions(replace=True)),
        ("Force=true", SyncOptions(force=True)),
        ("ServerSideApply=false", SyncOptions(server_side_apply=False)),
        ("ClientSideApplyMigration=false", SyncOptions(client_side_apply_migration=False)),
        ("CreateNamespace=true", SyncOptions(create_namespace=True)),
        ("FailOnSharedResource=true", SyncOptions(fail_on_shared_resource=True)),
        ("RespectIgnoreDifferences=true", SyncOptions(respect_ignore_differences=True)),
        ("Prune=maybe", SyncOptions(unknown=("Prune=maybe",))),
        ("Prune = false", SyncOptions(unknown=("Prune = false",))),
        ("Sing=true", SyncOptions(unknown=("Sing=true",))),
    ],
)
def test_sync_option_is_read(written: str, expected: SyncOptions) -> None:
    assert parse_sync_options([written]) == expected


def test_object_overrides_its_application() -> None:
    app = parse_sync_options(["Prune=false", "Replace=true"])
    own = annotated(**{"argocd.argoproj.io/sync-options": "Prune=true, Validate=false"})
    assert sync_options_of(own, app) == SyncOptions(validate=False, replace=True)


def test_of_duplicates_the_first_counts_for_deletions_only() -> None:
    written = ["Prune=false", "Prune=true", "Delete=confirm", "Delete=true", "Replace=true"]
    options = parse_sync_options([*written, "Replace=false"])
    assert (options.prune, options.delete) == (Consent.NO, Consent.CONFIRM)
    assert not options.replace


OPTIONS = "argocd.argoproj.io/sync-options"


@pytest.mark.parametrize(
    ("desired", "live", "replace", "force"),
    [
        ("", "", False, False),
        ("", "Replace=true,Force=true", True, True),
        ("Replace=false", "Replace=true", False, False),
        ("Replace=true", "Replace=false", True, False),
    ],
)
def test_replace_and_force_of_the_live_object_count_too(
    desired: str, live: str, *, replace: bool, force: bool
) -> None:
    written = annotated(**{OPTIONS: desired})
    options = with_live_options(
        sync_options_of(written, SyncOptions()), written, annotated(**{OPTIONS: live})
    )
    assert (options.replace, options.force) == (replace, force)


def test_an_object_may_refuse_to_be_replaced_with_its_application() -> None:
    app = parse_sync_options(["Replace=true"])
    assert not sync_options_of(annotated(**{OPTIONS: "Replace=false"}), app).replace


@pytest.mark.parametrize(
    ("written", "takes_over"),
    [
        ((), True),
        (("ClientSideApplyMigration=false",), True),
        (("ClientSideApplyMigration=false", "ServerSideApply=false"), True),
        (("ClientSideApplyMigration=false", "ServerSideApply=true"), False),
    ],
)
def test_only_a_server_side_apply_without_migration_keeps_the_fields_of_earlier_tools(
    written: tuple[str, ...], *, takes_over: bool
) -> None:
    assert parse_sync_options(written).takes_over is takes_over


def test_object_cannot_set_what_belongs_to_the_application() -> None:
    own = annotated(**{"argocd.argoproj.io/sync-options": "CreateNamespace=true"})
    assert sync_options_of(own, SyncOptions()) == SyncOptions()


def test_helm_keep_forbids_deletion() -> None:
    assert (
        sync_options_of(annotated(**{"helm.sh/resource-policy": "keep"}), SyncOptions()).delete
        == Consent.NO
    )


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("", CompareOptions()),
        ("IgnoreExtraneous", CompareOptions(ignore_extraneous=True)),
        ("ServerSideDiff=true", CompareOptions(server_side_diff=True)),
        (
            "ServerSideDiff=false,IgnoreExtraneous",
            CompareOptions(ignore_extraneous=True, server_side_diff=False),
        ),
        ("IncludeMutationWebhook=true", CompareOptions(include_mutation_webhook=True)),
    ],
)
def test_compare_options_are_read(written: str, expected: CompareOptions) -> None:
    assert (
        compare_options_of(annotated(**{"argocd.argoproj.io/compare-options": written})) == expected
    )
