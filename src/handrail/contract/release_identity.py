"""Who may sign a release of Handrail: one workflow of one repository, on the tag of that version. Pure."""

from __future__ import annotations

import msgspec

REPOSITORY = "https://github.com/handrail.example/handrail"
"""The first release sets it. No account there has a dot in its name, so until then nobody can sign as us."""
WORKFLOW = ".github/workflows/release.yml"
ISSUER = "https://token.actions.githubusercontent.com"
PUBLISH_STATEMENT = "https://docs.pypi.org/attestations/publish/v1"
"""What the statement of a release says it is; other kinds of statements prove something else."""


class ReleaseIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """What the certificate of a signature must name, letter by letter."""

    issuer: str
    repository: str
    tag: str
    workflow: str
    """The file that ran, at the tag that it ran for."""


def identity_of(version: str) -> ReleaseIdentity:
    tag = f"refs/tags/v{version}"
    return ReleaseIdentity(
        issuer=ISSUER, repository=REPOSITORY, tag=tag, workflow=f"{REPOSITORY}/{WORKFLOW}@{tag}"
    )
