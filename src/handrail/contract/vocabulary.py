"""Closed words that several rooms share. Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias

SourceKind: TypeAlias = Literal["bundled", "user", "project", "git", "remote", "plugin"]
"""Where a workflow came from."""

ObservationKey: TypeAlias = Literal["git_branch", "git_head_sha", "repo_root_hash", "goal"]
"""What can be seen around a session that helps to find it again."""
