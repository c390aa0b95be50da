"""Closed words that several rooms share. Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias

SourceKind: TypeAlias = Literal["bundled", "user", "project", "git", "remote", "plugin"]
"""Where a workflow came from."""

ObservationKey: TypeAlias = Literal["git_branch", "git_head_sha", "repo_root_hash", "goal"]
"""What can be seen around a session that helps to find it again."""

Autonomy: TypeAlias = Literal["guided", "full_auto_stop_on_user_deps", "full_auto_never_stop"]
"""How far an agent may go without the user, least first."""

RiskPolicy: TypeAlias = Literal["conservative", "balanced", "aggressive"]
"""How much risk an agent's choices may carry, least first."""

PresetName: TypeAlias = Literal["guided", "full_auto_with_stops", "full_auto"]
"""Combinations of the two that people choose by name (PACK, presets)."""

MaxEffect: TypeAlias = Literal["read", "write", "dangerous"]
"""The permission ceiling, least first; `write` covers record, create, ack and gated operations."""
