"""`--out FILE`: a part of the answer goes into a new file, and the answer says where and what it is."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator

from handrail.contract.catalogue import E_CONFLICT
from handrail.contract.outcome import Fault, Json
from handrail.contract.wording import quoted
from handrail.ports import AuthoredFiles


def kept_in_file(files: AuthoredFiles, path: str, chunks: Iterator[bytes]) -> dict[str, Json]:
    """Path, size and digest of the new file that holds it all.

    Raises Fault E_CONFLICT, and what the file system or the chunks refuse.
    """
    full = os.path.abspath(path)
    whole = hashlib.sha256()
    size = 0

    def counted() -> Iterator[bytes]:
        nonlocal size
        for chunk in chunks:
            whole.update(chunk)
            size += len(chunk)
            yield chunk

    if not files.create_private(full, counted()):
        raise Fault(
            E_CONFLICT,
            f"{quoted(full)} exists, and nothing is overwritten.",
            details={"reason": "target_exists"},
            hint="Choose another file name for --out, or move the file away.",
        )
    return {"path": full, "bytes": size, "sha256": whole.hexdigest()}
