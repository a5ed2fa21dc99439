"""LabelSelector selects objects by their labels, as `metav1.LabelSelector` of Kubernetes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec


class LabelOperator(StrEnum):
    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


class LabelRequirement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    key: str
    operator: LabelOperator
    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        takes_values = self.operator in (LabelOperator.IN, LabelOperator.NOT_IN)
        if takes_values and not self.values:
            raise ValueError(f"{self.operator} of the label {self.key!r} needs values")
        if self.values and not takes_values:
            raise ValueError(f"{self.operator} of the label {self.key!r} takes no values")

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether labels meet the requirement; an absent label is not in any list."""
        match self.operator:
            case LabelOperator.IN:
                return labels.get(self.key) in self.values
            case LabelOperator.NOT_IN:
                return labels.get(self.key) not in self.values
            case LabelOperator.EXISTS:
                return self.key in labels
            case LabelOperator.DOES_NOT_EXIST:
                return self.key not in labels


class LabelSelector(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    match_labels: dict[str, str] = {}
    match_expressions: tuple[LabelRequirement, ...] = ()

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether labels meet all requirements; an empty selector selects everything."""
        same = all(labels.get(key) == value for key, value in self.match_labels.items())
        return same and all(one.holds(labels) for one in self.match_expressions)
