"""Whether a release is published, and what is installed. Pure.

Before the first release nobody knows whose package an index has under the name `handrail`, so no line that we
print and no call of ours asks an index for it: everything is installed from a clone of the repository.
"""

from __future__ import annotations

from handrail.version import __version__

IS_RELEASED = False
"""Set by the first release, and never unset."""
INSTALL = "uv tool install handrail" if IS_RELEASED else "uv tool install --force ."
"""In a clone of the repository until there is a release."""
WHERE = "" if IS_RELEASED else " in a clone of the repository"


def spell_requirement(requirement: str) -> str:
    """This version of a requirement such as `handrail[team]`; until there is a release, from the clone."""
    return f"{requirement}=={__version__}" if IS_RELEASED else requirement.replace("handrail", ".", 1)
