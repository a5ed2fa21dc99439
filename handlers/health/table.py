"""The table of all kinds with a health, put together of the families; `rule_of` looks a kind up.

A family names groups, and kinds of each group with their rule; kinds that share a rule stand in one
text with blanks between them. A group that begins with `*.` stands for all groups that end so, and
the kind `*` for all kinds of the group. An exact row goes before one with a `*`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from handlers.health.rule import Clause

KindTable = Mapping[str, Mapping[str, Clause]]


class HealthTable:
    """The rules of many kinds, looked up by group and kind."""

    __slots__ = ("_exact", "_groups")

    def __init__(self, families: Iterable[KindTable]) -> None:
        self._exact: dict[tuple[str, str], Clause] = {}
        self._groups: dict[str, Clause] = {}
        """Rules of groups of which all kinds have the same, by the end of the group's name."""
        for family in families:
            for group, kinds in family.items():
                for names, rule in kinds.items():
                    self._add(group, names, rule)

    def _add(self, group: str, names: str, rule: Clause) -> None:
        for kind in names.split(" "):
            if kind == "*":
                self._groups[group.removeprefix("*")] = rule
            elif (group, kind) in self._exact:
                raise ValueError(f"kind {group}/{kind} has two rules")
            else:
                self._exact[group, kind] = rule

    def rule_of(self, group: str, kind: str) -> Clause | None:
        rule = self._exact.get((group, kind))
        return rule if rule is not None or not group else self._of_group(group)

    def kinds(self) -> Iterable[tuple[str, str]]:
        """Every kind that has a rule of its own, and `*` for groups."""
        yield from self._exact
        yield from ((f"*{group}" if group[0] == "." else group, "*") for group in self._groups)

    def _of_group(self, group: str) -> Clause | None:
        """The rule of the group, or of the longest end of its name that has one."""
        found = self._groups.get(group)
        dot = group.find(".")
        while found is None and dot >= 0:
            found = self._groups.get(group[dot:])
            dot = group.find(".", dot + 1)
        return found
