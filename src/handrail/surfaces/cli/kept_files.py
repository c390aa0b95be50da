"""`--out FILE`: a part of the answer goes into a new file, and the answer says where and what it is."""

from __future__ import annotations

import hashlib
import os

import msgspec

from handrail.contract.catalogue import E_CONFLICT
from handrail.contract.outcome import Failure, Fault, Outcome, failure_of
from handrail.contract.wording import quoted
from handrail.ports import AuthoredFiles
from handrail.surfaces.cli.render import raw_bytes


def kept_in_file(files: AuthoredFiles, outcome: Outcome, field: str, path: str) -> Outcome:
    """The answer without the field, and with path, size and digest of the file that holds it."""
    if isinstance(outcome, Failure):
        return outcome
    assert isinstance(outcome.data, dict), "what is kept in a file is a field of the payload"
    content = raw_bytes(outcome.data[field])
    full = os.path.abspath(path)
    try:
        is_made = files.create_private(full, content)
    except Fault as fault:
        return failure_of(fault)
    if not is_made:
        return Failure(
            kind=E_CONFLICT,
            message=f"{quoted(full)} exists, and nothing is overwritten.",
            details={"reason": "target_exists"},
            hint="Choose another file name for --out, or move the file away.",
        )
    rest = {name: value for name, value in outcome.data.items() if name not in (field, "_untrusted")}
    kept = {"path": full, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    return msgspec.structs.replace(outcome, data=rest | kept)
