"""`handrail version` and `handrail changelog`: the running program, and the changes between
versions.

Neither touches the store; the changelog is the CHANGELOG.md packed with the program.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from handrail.contract.disclosure.fields import Shape
from handrail.contract.envelopes.cli import SCHEMA_VERSION
from handrail.contract.outcome import Answer
from handrail.program.update.find_release import Release, read_releases
from handrail.program.update.package_index import version_key
from handrail.runtime.operation import Input, Operation, ValueRule
from handrail.runtime.runtime import Runtime
from handrail.version import __version__


class ShowVersion(Input, frozen=True, kw_only=True):
    """The input, which has no fields."""


class Version(Answer, frozen=True, kw_only=True):
    """The program, its release, and the version of its documents."""

    tool: str
    version: str
    schema_version: str


def show_version(_: Runtime, __: ShowVersion) -> Version:
    """Return what `--version --format json` prints too."""
    return Version(tool="handrail", version=__version__, schema_version=SCHEMA_VERSION)


VERSION = Operation(
    name="self.version",
    effect="read",
    where="client",
    summary="Show the version of the program and of its documents.",
    input=ShowVersion,
    output=Version,
    perform=show_version,
    shape=Shape(
        levels={"minimal": ("tool", "version")},
    ),
)


# What changed between versions

CHANGELOG_NAME = "CHANGELOG.md"


class ShowChangelog(Input, frozen=True, kw_only=True):
    """The input: the version after which the list begins."""

    since: (
        Annotated[
            str, Meta(description="Only versions that are strictly newer.", min_length=1, max_length=64)
        ]
        | UnsetType
    ) = UNSET


class Changelog(Answer, frozen=True, kw_only=True):
    """Releases, newest first. The list is short and not paged."""

    current_version: str
    since: str | None
    count: int
    entries: list[Release]


def show_changelog(rt: Runtime, request: ShowChangelog) -> Changelog:
    """Return every release, or those after one version, which need not have been released."""
    content = rt.installation().packed(CHANGELOG_NAME) or b""
    entries = read_releases(content.decode("utf-8", "replace"))
    since = None if request.since is UNSET else request.since
    if since is not None:
        floor = version_key(since)
        assert floor is not None, "the rule of the field lets only versions through"
        entries = [one for one in entries if (version_key(one.version) or floor) > floor]
    return Changelog(current_version=__version__, since=since, count=len(entries), entries=entries)


CHANGELOG = Operation(
    name="self.changelog",
    effect="read",
    where="client",
    summary="Show the changes of each release, newest first, without paging.",
    input=ShowChangelog,
    output=Changelog,
    perform=show_changelog,
    shape=Shape(
        levels={"minimal": ("current_version", "since", "count")},
        windows=("entries",),
    ),
    value_rules={
        "since": ValueRule(
            fits=lambda text: version_key(text) is not None,
            problem="is no version",
            expected="a version such as 1.9 or 2.0rc1",
        )
    },
)
