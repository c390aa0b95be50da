"""`handrail version`: which program answers, and which contract it keeps. Touches no store."""

from __future__ import annotations

from handrail import __version__
from handrail.contract.disclosure.fields import Shape
from handrail.contract.envelopes.cli import SCHEMA_VERSION
from handrail.contract.outcome import Answer
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import Runtime


class ShowVersion(Input, frozen=True, kw_only=True):
    """Nothing to choose."""


class Version(Answer, frozen=True, kw_only=True):
    """The program, its release, and the version of its documents."""

    tool: str
    version: str
    schema_version: str


def show_version(_: Runtime, __: ShowVersion) -> Version:
    """What `--version --format json` says too."""
    return Version(tool="handrail", version=__version__, schema_version=SCHEMA_VERSION)


OPERATION = Operation(
    name="self.version",
    effect="read",
    where="companion",
    summary="Show the version of the program and of its documents.",
    input=ShowVersion,
    output=Version,
    perform=show_version,
    shape=Shape(
        levels={"minimal": ("tool", "version")},
    ),
)
