"""The rebuildable cache of long sessions: one file per session under `cache/`, never truth.

It keeps what a caller worked out from a session up to some commit, and the digests of the very bytes
it was worked out from. It counts only while the session still begins with these bytes, so a damaged
log is noticed with it as without it. It is never synced; a torn or stale file is ignored.

The file is a line with the SHA-256 of the rest, a line with the header, and the content.
"""

import hashlib
import os
from typing import Final

import msgspec

from handrail.event_log.disk import Disk, make_directory, opened, opened_directory, read_from, write_all
from handrail.event_log.manifest import MANIFEST_NAME, Tip
from handrail.event_log.segments import segments_up_to

CACHE_VERSION: Final = 1


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    v: int
    session: str
    tip: Tip
    sums: dict[str, str]
    """File name -> SHA-256 of its bytes up to the tip."""


_decoder = msgspec.json.Decoder(_Header)


def write_recollection(
    disk: Disk, cache: str, session_id: str, directory: int, tip: Tip, content: bytes
) -> None:
    """Keep what a caller worked out from the log up to a tip.

    Raises: OSError, and then nothing that counts was kept.
    """
    header = _Header(v=CACHE_VERSION, session=session_id, tip=tip, sums=_sums(disk, directory, tip))
    rest = msgspec.json.encode(header) + b"\n" + content
    written = hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest
    make_directory(disk, cache)
    with (
        opened_directory(disk, cache) as place,
        opened(disk, session_id, os.O_RDWR | os.O_CREAT, place) as descriptor,
    ):
        write_all(disk, descriptor, written, 0)
        if disk.status(descriptor).st_size != len(written):
            disk.cut(descriptor, len(written))


def read_recollection(disk: Disk, cache: str, session_id: str, directory: int) -> tuple[Tip, bytes] | None:
    """What was kept, if the session on disk still begins with the bytes it was worked out from."""
    try:
        with (
            opened_directory(disk, cache) as place,
            opened(disk, session_id, os.O_RDONLY, place) as descriptor,
        ):
            written = read_from(disk, descriptor)
    except OSError:  # whatever is wrong with a cache, the log itself is there to be read
        return None
    total, _, rest = written.partition(b"\n")
    if hashlib.sha256(rest).hexdigest().encode() != total:
        return None
    header_line, _, content = rest.partition(b"\n")
    try:
        header = _decoder.decode(header_line)
    except msgspec.MsgspecError:
        return None
    if (header.v, header.session) != (CACHE_VERSION, session_id):
        return None
    is_same = header.tip.last is not None and _sums(disk, directory, header.tip) == header.sums
    return (header.tip, content) if is_same else None


def _sums(disk: Disk, directory: int, tip: Tip) -> dict[str, str]:
    """The digest of every file of the session, up to the tip."""
    assert tip.last is not None, "a session that is kept has a commit"
    names = segments_up_to(tip.last.segment)
    sizes: dict[str, int | None] = dict.fromkeys(names[:-1])
    sizes |= {names[-1]: tip.last.end, MANIFEST_NAME: tip.end}
    return {name: _sum(disk, directory, name, size) for name, size in sizes.items()}


def _sum(disk: Disk, directory: int, name: str, size: int | None) -> str:
    try:
        with opened(disk, name, os.O_RDONLY, directory) as descriptor:
            return hashlib.sha256(read_from(disk, descriptor)[:size]).hexdigest()
    except FileNotFoundError:
        return ""
