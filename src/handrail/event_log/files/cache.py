"""What is kept of a session between calls, to save time: fingerprints, proven tips, and the cache file.

Nothing here is authoritative. Everything is bounded, can be lost at any time, and is compared with the files
before it is used, so a damaged log is noticed with it as without it.
"""

import hashlib
import os
from collections.abc import Callable
from itertools import count
from typing import Final, TypeAlias

import msgspec

from handrail.contract.ids import BlobRef, SessionId
from handrail.event_log.files.disk import (
    Disk,
    make_directory,
    open_directory,
    open_file,
    read_from,
    write_all,
)
from handrail.event_log.files.manifest import MANIFEST_NAME, Tip
from handrail.event_log.files.segments import segment_name, segment_number, segments_up_to
from handrail.runtime.recent import Recent

# Fingerprints of files
#
# A fingerprint is taken before the bytes are read. A writer sets one modification time on the segment and
# the manifest when it commits; any other change sets another. So two fingerprints show whether only commits
# were added in between, for a few calls that read nothing.

Mark: TypeAlias = tuple[int, int, int, int]
"""Size, modification time, inode and change time of a file."""
_NO_FILE: Mark = (-1, 0, 0, 0)


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True):
    """The marks of a session's files at one moment."""

    manifest: Mark
    segments: tuple[Mark, ...]


def mark_of(status: os.stat_result) -> Mark:
    return (status.st_size, status.st_mtime_ns, status.st_ino, status.st_ctime_ns)


def take_fingerprint(disk: Disk, directory: int, known: Fingerprint | None = None) -> Fingerprint:
    """Return the marks of the manifest and every segment, or of only as many segments as were known."""
    numbers = count(1) if known is None else range(1, 1 + len(known.segments))
    manifest = _mark(disk, directory, MANIFEST_NAME)
    segments: list[Mark] = []
    for number in numbers:
        mark = _mark(disk, directory, segment_name(number))
        if mark is _NO_FILE:
            break
        segments.append(mark)
    return Fingerprint(manifest=manifest, segments=tuple(segments))


def has_only_new_commits(known: Fingerprint, now: Fingerprint) -> bool:
    """Whether nothing changed, or only commits were added."""
    if known == now:
        return True
    return (
        now.manifest[0] > known.manifest[0]
        and len(now.segments) == len(known.segments)
        and now.segments[:-1] == known.segments[:-1]
        and now.segments[-1][1] == now.manifest[1]
    )


def limit_fingerprint(fingerprint: Fingerprint, tip: Tip) -> Fingerprint | None:
    """Return the fingerprint without segments that nothing attests; None if an attested one is missing."""
    number = 0 if tip.last is None else segment_number(tip.last.segment)
    if not 0 < number <= len(fingerprint.segments):
        return None
    return msgspec.structs.replace(fingerprint, segments=fingerprint.segments[:number])


def fingerprint_after(
    before: Fingerprint | None, tip: Tip, marks: tuple[Mark, Mark] | None
) -> Fingerprint | None:
    """Return the fingerprint after a commit that ended at this tip with these marks; None if unknown."""
    assert tip.last is not None, "a commit was made"
    number = segment_number(tip.last.segment)
    earlier = () if before is None else before.segments[: number - 1]
    if marks is None or len(earlier) != number - 1:
        return None
    return Fingerprint(manifest=marks[0], segments=(*earlier, marks[1]))


def _mark(disk: Disk, directory: int, name: str) -> Mark:
    try:
        return mark_of(disk.status_of(name, directory))
    except FileNotFoundError:
        return _NO_FILE


# Memory of proven sessions
#
# A call should cost what is new, not what is old. Forgetting costs one full reading.

TIPS_PER_SESSION: Final = 8
"""Most tips of one session: its callers are only a few commits apart."""
MOST_SESSIONS: Final = 16_384
MOST_KEY_BYTES: Final = 32 * 1024 * 1024
"""Most bytes of dedupe keys in memory, over all sessions; a session that is left out is scanned again."""
KEY_BYTES: Final = 128
"""Approximate bytes of one key."""
ALWAYS_KEPT: Final = 4
"""Number of latest sessions that stay, however long they are: scanning one in every call is expensive."""


class WriterMemory(msgspec.Struct, frozen=True, kw_only=True):
    """What a writer must know about the whole log to append to it.

    The collections grow in place: only the writer of the session has them.
    """

    tip: Tip
    keys: dict[str, int]
    """Event index by dedupe key."""
    pinned: set[BlobRef]


class ProvenSessions:
    """Proven tips for readers, the memory of writers, and the fingerprint of the files at that time."""

    def __init__(self) -> None:
        self._seen: Recent[SessionId, tuple[tuple[Tip, ...], Fingerprint | None]] = Recent(MOST_SESSIONS)
        self.writers: Recent[SessionId, WriterMemory] = Recent(MOST_SESSIONS, MOST_KEY_BYTES, ALWAYS_KEPT)

    def tip_before(self, session_id: SessionId, index: int) -> Tip | None:
        """Return the latest known tip at or before event `index`."""
        return next((tip for tip in reversed(self._tips(session_id)) if tip.head <= index), None)

    def latest_tip(self, session_id: SessionId) -> Tip | None:
        tips = self._tips(session_id)
        return tips[-1] if tips else None

    def fingerprint(self, session_id: SessionId) -> Fingerprint | None:
        """Return the fingerprint from when the files were proven; None if they must be proven again."""
        seen = self._seen.get(session_id)
        return None if seen is None else seen[1]

    def record(self, session_id: SessionId, tip: Tip, fingerprint: Fingerprint | None) -> None:
        """Record that a reading of files with this fingerprint proved everything up to a tip."""
        earlier = tuple(known for known in self._tips(session_id) if known.end < tip.end)
        shown = None if fingerprint is None else limit_fingerprint(fingerprint, tip)
        self._seen.put(session_id, ((*earlier, tip)[-TIPS_PER_SESSION:], shown))

    def forget(self, session_id: SessionId) -> None:
        self._seen.take(session_id)
        self.writers.take(session_id)

    def _tips(self, session_id: SessionId) -> tuple[Tip, ...]:
        seen = self._seen.get(session_id)
        return () if seen is None else seen[0]


# The cache file of a long session
#
# It keeps what a caller worked out from a session up to some commit, and the digests of the bytes it was
# worked out from: a line with the seal of the rest (a MAC with the store key), a line with the header, and
# the content. It is never synced; a torn, stale or foreign file is ignored.

CACHE_VERSION: Final = 1


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    v: int
    session: str
    tip: Tip
    sums: dict[str, str]
    """File name -> SHA-256 of its bytes up to the tip."""


_decoder = msgspec.json.Decoder(_Header)


def write_cache_file(
    disk: Disk,
    cache: str,
    session_id: str,
    directory: int,
    tip: Tip,
    content: bytes,
    seal: Callable[[bytes], str],
) -> None:
    """Write what a caller computed from the log up to a tip.

    Raise OSError; then nothing usable was written.
    """
    header = _Header(v=CACHE_VERSION, session=session_id, tip=tip, sums=_sums(disk, directory, tip))
    rest = msgspec.json.encode(header) + b"\n" + content
    written = seal(rest).encode() + b"\n" + rest
    make_directory(disk, cache)
    with (
        open_directory(disk, cache) as place,
        open_file(disk, session_id, os.O_RDWR | os.O_CREAT, place) as descriptor,
    ):
        write_all(disk, descriptor, written, 0)
        if disk.status(descriptor).st_size != len(written):
            disk.cut(descriptor, len(written))


def read_cache_file(
    disk: Disk, cache: str, session_id: str, directory: int, seal: Callable[[bytes], str]
) -> tuple[Tip, bytes] | None:
    """Return what was written, if the session still begins with the bytes it was computed from."""
    try:
        with (
            open_directory(disk, cache) as place,
            open_file(disk, session_id, os.O_RDONLY, place) as descriptor,
        ):
            written = read_from(disk, descriptor)
    except OSError:  # if a cache cannot be used, the log can be read
        return None
    total, _, rest = written.partition(b"\n")
    if seal(rest).encode() != total:
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
    """Return the digest of every file of the session, up to the tip."""
    assert tip.last is not None, "a session that is kept has a commit"
    names = segments_up_to(tip.last.segment)
    sizes: dict[str, int | None] = dict.fromkeys(names[:-1])
    sizes |= {names[-1]: tip.last.end, MANIFEST_NAME: tip.end}
    return {name: _sum(disk, directory, name, size) for name, size in sizes.items()}


def _sum(disk: Disk, directory: int, name: str, size: int | None) -> str:
    try:
        with open_file(disk, name, os.O_RDONLY, directory) as descriptor:
            return hashlib.sha256(read_from(disk, descriptor)[:size]).hexdigest()
    except FileNotFoundError:
        return ""
