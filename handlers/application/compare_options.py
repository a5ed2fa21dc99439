"""The key `resource.compareoptions` of `argocd-cm`. Pure.

Whether a change of ignored fields alone leads to a comparison is acted on. Status, and the rules of
aggregated ClusterRoles, are never compared, whatever the options say: controllers write both.
"""

from __future__ import annotations

from typing import Any

import yaml

COMPARE_OPTIONS = "resource.compareoptions"
_STATUS_COMPARED = frozenset({"crd", "none", "off", "false"})


def compares_ignored_updates(written: str) -> bool:
    options = _options(written)
    return options is not None and options.get("ignoreDifferencesOnResourceUpdates") is False


def compares_more(written: str) -> bool:
    """Whether the options ask for more than is compared in any case, or cannot be read."""
    options = _options(written)
    if options is None:
        return True
    status = str(options.get("ignoreResourceStatusField", "all")).lower()
    return options.get("ignoreAggregatedRoles") is False or status in _STATUS_COMPARED


def _options(written: str) -> dict[str, Any] | None:
    """Read the options; None where they cannot be read."""
    try:
        document: Any = yaml.safe_load(written)
    except yaml.YAMLError:
        return None
    return document if isinstance(document, dict) else {}
