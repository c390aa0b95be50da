"""What exporting and checking a receipt share: where keys may be used, and which commit is meant."""

from __future__ import annotations

from handrail.contract.catalogue import FEATURE_DISABLED, VALIDATION_ERROR
from handrail.contract.outcome import Fault
from handrail.contract.wording import quote
from handrail.ports.receipts import NamedCommit
from handrail.runtime.runtime import ReadPorts


def require_local(rt: ReadPorts) -> None:
    """Raises Fault FEATURE_DISABLED: whoever may call a server may not sign as its user."""
    if rt.is_served:
        raise Fault(
            FEATURE_DISABLED,
            "No server uses the keys of receipts.",
            hint="Run it on the command line.",
        )


def find_commit(rt: ReadPorts, project: str, ref: str) -> NamedCommit:
    """Raises Fault VALIDATION_ERROR where the repository of the project has no such commit."""
    found = rt.committed().find(project, ref)
    if found is None:
        problem = {"param": "commit", "problem": "is no commit here", "expected": "a commit of the project"}
        raise Fault(
            VALIDATION_ERROR,
            f"The repository of this project has no commit {quote(ref)}.",
            details={"problems": [problem]},
            hint="Run it in a checkout that has the commit; git fetch brings one that is missing.",
        )
    return found
