"""Labels and annotations are read by their present and, for one version, by their former name."""

import pytest

from bus.metadata_keys import (
    COMMANDS,
    CREDENTIAL,
    CREDENTIAL_URLS,
    ENVIRONMENT,
    PENDING_FACTS,
    SERVICE,
    MetadataKey,
)

ALL = (COMMANDS, CREDENTIAL, CREDENTIAL_URLS, ENVIRONMENT, PENDING_FACTS, SERVICE)


@pytest.mark.parametrize("key", ALL, ids=lambda key: key.name)
def test_every_key_is_of_one_domain_and_has_a_former_name(key: MetadataKey) -> None:
    assert key.name.startswith("plumbline.dev/")
    assert key.former.startswith(("gitops.house/", "gitops-house.io/"))


@pytest.mark.parametrize(
    ("metadata", "value"),
    [
        ({}, ""),
        ({"gitops.house/service": "old"}, "old"),
        ({"plumbline.dev/service": "new"}, "new"),
        ({"gitops.house/service": "old", "plumbline.dev/service": "new"}, "new"),
        ({"gitops.house/service": "old", "plumbline.dev/service": ""}, ""),
    ],
    ids=["neither", "former", "present", "both", "present but empty"],
)
def test_the_present_name_wins_over_the_former(metadata: dict[str, str], value: str) -> None:
    assert SERVICE.value(metadata) == value
