"""Whether a release is published, and what is installed. Pure.

Before the first release another author could own the name `handrail` in a package index. So nothing
that Handrail prints or calls uses an index for it: everything is installed from a clone of the
repository.
"""

from __future__ import annotations

from handrail.version import __version__

IS_RELEASED = False
"""Whether there is a release. The first release sets it, and it is never unset."""
INSTALL = "uv tool install handrail" if IS_RELEASED else "uv tool install --force ."
"""The command that installs Handrail; until there is a release, you run it in a clone of the repository."""
WHERE = "" if IS_RELEASED else " in a clone of the repository"


def spell_requirement(requirement: str) -> str:
    """Return this version of a requirement such as `handrail[team]`; until there is a release, from
    the clone.
    """
    return f"{requirement}=={__version__}" if IS_RELEASED else requirement.replace("handrail", ".", 1)
