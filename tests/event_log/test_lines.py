"""The store key, the lines that it writes beside the chain, and the list that begins with it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import pytest

from handrail.contract.ids import SessionId
from handrail.contract.outcome import Fault
from handrail.event_log.copying import has_foreign_facts
from handrail.event_log.files.disk import Disk
from handrail.event_log.files.log import FileLog
from handrail.event_log.files.manifest import Attestation, add_attestation, attest_after, empty_tip
from handrail.event_log.files.store_key import StoreKey, name_place
from handrail.ports.log import Draft, Origin, Vouched
from tests.event_log.log_promises import A, B, append, code_of, draft, load, plan
from tests.store_proof.disks import Death

C = SessionId("ses_000000000003")


def chance(count: int) -> bytes:
    return b"k" * count


def other_chance(count: int) -> bytes:
    return b"o" * count


def store(home: Path, disk: Disk | None = None, random_bytes: object = chance) -> FileLog:
    data = str(home / "data")
    return FileLog(data, disk, key=StoreKey(data, random_bytes, disk))  # type: ignore[arg-type]


def vouched(key: str, how: Vouched = "needed") -> Draft:
    return msgspec.structs.replace(draft(key), vouched=how)


def ours(log: FileLog, session_id: SessionId = A) -> list[bool]:
    return [record.is_ours for record in load(log, session_id).records]


def manifest_of(home: Path, session_id: SessionId = A) -> Path:
    return home / "data" / "sessions" / session_id / "manifest.jsonl"


def lines_of(home: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in manifest_of(home).read_text(encoding="utf-8").splitlines()]


def key_file(home: Path) -> Path:
    return home / "store-key" / name_place(str(home / "data")) / "key"


def rewrite(home: Path, attestations: list[Attestation]) -> None:
    """Give the session another manifest, with sums that fit: anybody can compute them."""
    tip, written = empty_tip(A), b""
    for attestation in attestations:
        tip, line = add_attestation(tip, attestation)
        written += line
    manifest_of(home).write_bytes(written)
    (manifest_of(home).parent / "lock").write_bytes(b"")


def test_a_line_stands_beside_the_chain_and_only_where_asked(tmp_path: Path) -> None:
    log = store(tmp_path)
    append(log, A, 0, plan("a:1"))
    append(log, A, 1, [vouched("a:2"), draft("a:3")])

    first, second = lines_of(tmp_path)
    without_key = FileLog(str(tmp_path / "data"))

    assert (first["v"], "auth" in first) == (1, False)
    assert (second["v"], len(str(second["auth"]))) == (2, 64)
    assert ours(store(tmp_path)) == [False, True, True]
    assert ours(without_key) == [True, True, True]
    plain = FileLog(str(tmp_path / "plain"))
    append(plain, A, 0, plan("a:1"))
    append(plain, A, 1, plan("a:2", "a:3"))
    assert load(plain, A).digest == load(without_key, A).digest


def test_a_line_proves_nothing_in_another_store_or_session(tmp_path: Path) -> None:
    append(store(tmp_path / "one"), A, 0, [vouched("a:1")])
    append(store(tmp_path / "two", random_bytes=other_chance), B, 0, [vouched("b:1")])
    shutil.copytree(manifest_of(tmp_path / "one").parent, manifest_of(tmp_path / "two").parent)

    assert ours(store(tmp_path / "one")) == [True]
    assert ours(store(tmp_path / "two")) == [False]
    assert ours(store(tmp_path / "two"), B) == [True]


def test_a_line_covers_the_first_event_of_its_commit(tmp_path: Path) -> None:
    """Otherwise a foreign commit could be joined with one of ours, under our line."""
    log = store(tmp_path)
    append(log, A, 0, plan("foreign:1"))
    append(log, A, 1, [vouched("a:2")])
    own = attest_after(empty_tip(A), manifest_of(tmp_path).read_bytes()).attestations
    joined = msgspec.structs.replace(own[1], first=0, start=0)

    rewrite(tmp_path, [joined])

    assert load(store(tmp_path), A).health.state == "healthy"
    assert ours(store(tmp_path)) == [False, False]


def test_every_changed_byte_of_a_line_is_damage_or_no_proof(tmp_path: Path) -> None:
    append(store(tmp_path), A, 0, plan("a:1"))
    append(store(tmp_path), A, 1, [vouched("a:2")])
    sound = manifest_of(tmp_path).read_bytes()
    place = sound.index(b'"auth"')
    for at in range(place, len(sound)):
        manifest_of(tmp_path).write_bytes(sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1 :])

        found = load(store(tmp_path), A)

        assert found.health.state != "healthy" or len(found.records) < 2, at
    torn = [sound[:at] for at in range(place, len(sound))]
    (manifest_of(tmp_path).parent / "lock").write_bytes(b"")
    for content in torn:
        manifest_of(tmp_path).write_bytes(content)
        found = load(store(tmp_path), A)
        assert (found.health.state, len(found.records)) == ("healthy", 1), content[-20:]


def test_the_key_is_made_once_and_lists_what_was_there(tmp_path: Path) -> None:
    old = FileLog(str(tmp_path / "data"))
    append(old, A, 0, plan("a:1", "a:2"))
    log = store(tmp_path)
    assert log.origin(A, load(log, A).digest) == Origin(listed=1 << 62)

    append(log, B, 0, plan("b:1"))

    made = key_file(tmp_path).read_bytes()
    append(store(tmp_path, random_bytes=other_chance), B, 1, [vouched("b:2")])
    assert key_file(tmp_path).read_bytes() == made
    assert [log.origin(one, load(log, one).digest).listed for one in (A, B)] == [2, 0]
    append(log, A, 2, plan("a:3"))
    assert log.origin(A, load(log, A).digest) == Origin(listed=2)


def test_only_events_after_the_listed_ones_are_foreign(tmp_path: Path) -> None:
    append(FileLog(str(tmp_path / "data")), A, 0, plan("a:1"))
    log = store(tmp_path)
    append(log, B, 0, [vouched("b:1")])
    append(FileLog(str(tmp_path / "data")), C, 0, plan("c:1"))

    assert [has_foreign_facts(log, one, load(log, one)) for one in (A, B, C)] == [False, False, True]


def test_another_session_of_a_listed_name_is_not_the_listed_one(tmp_path: Path) -> None:
    append(FileLog(str(tmp_path / "data")), A, 0, plan("a:1", "a:2"))
    append(store(tmp_path), B, 0, plan("b:1"))
    shutil.rmtree(manifest_of(tmp_path).parent)
    append(FileLog(str(tmp_path / "data")), A, 0, plan("other:1", "other:2"))

    log = store(tmp_path)

    assert log.origin(A, load(log, A).digest) == Origin()


def test_a_changed_list_vouches_for_nothing(tmp_path: Path) -> None:
    append(FileLog(str(tmp_path / "data")), A, 0, plan("a:1", "a:2"))
    append(store(tmp_path), B, 0, plan("b:1"))
    sound = key_file(tmp_path).read_bytes()
    row = sound.index(A.encode())
    for at in range(row, len(sound) - 1):
        key_file(tmp_path).write_bytes(sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1 :])
        log = store(tmp_path)
        assert log.origin(A, load(log, A).digest) == Origin(), at


def test_a_copy_of_the_home_has_no_key_of_its_own(tmp_path: Path) -> None:
    append(store(tmp_path / "home"), A, 0, [vouched("a:1")])

    shutil.copytree(tmp_path / "home", tmp_path / "copy")

    assert StoreKey(str(tmp_path / "copy" / "data"), other_chance).read() is None
    assert name_place("/x", []) != name_place("/y", [])
    machine = tmp_path / "machine-id"
    machine.write_text("m" * 32, encoding="utf-8")
    assert name_place("/x", [str(machine)]) != name_place("/x", [])


def test_adopting_counts_for_what_is_listed(tmp_path: Path) -> None:
    append(FileLog(str(tmp_path / "data")), A, 0, plan("a:1"))
    log = store(tmp_path)
    append(log, B, 0, plan("b:1"))
    assert log.key is not None

    log.key.adopt()

    again = store(tmp_path)
    assert again.origin(A, load(again, A).digest) == Origin(listed=1, is_adopted=True)
    assert again.origin(B, load(again, B).digest) == Origin()
    (key_file(tmp_path).parent / "adopted").write_text("0" * 64, encoding="utf-8")
    assert not store(tmp_path).origin(A, load(again, A).digest).is_adopted


@pytest.mark.parametrize("content", [b"", b"handrail-store-key 1 " + b"0" * 64 + b" " + b"0" * 16 + b"\n"])
def test_without_a_usable_key_no_answer_is_committed(tmp_path: Path, content: bytes) -> None:
    log = store(tmp_path)
    append(log, A, 0, plan("a:1"))
    key_file(tmp_path).write_bytes(content)
    log = store(tmp_path)

    assert code_of(lambda: append(log, A, 1, [vouched("a:2")])) == "KEYRING_INVALID"
    append(log, A, 1, [vouched("a:2", "wanted")])

    assert ours(store(tmp_path)) == [False, False]


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    append(store(tmp_path), A, 0, plan("a:1"))
    key_file(tmp_path).chmod(0o644)

    with pytest.raises(Fault, match="open to other users"):
        store(tmp_path).key.read()  # type: ignore[union-attr]


class MortalDisk(Disk):
    """Dies before a call that changes something, the `left`-th from now."""

    def __init__(self, left: int) -> None:
        self.left = left

    def write(self, descriptor: int, content: bytes, offset: int) -> int:
        self._live()
        return super().write(descriptor, content, offset)

    def sync(self, descriptor: int) -> None:
        self._live()
        super().sync(descriptor)

    def rename(self, name: str, new_name: str, directory: int) -> None:
        self._live()
        super().rename(name, new_name, directory)

    def sync_names(self, descriptor: int) -> None:
        self._live()
        super().sync_names(descriptor)

    def _live(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Death


def test_a_maker_that_dies_leaves_a_whole_key_or_none(tmp_path: Path) -> None:
    """It dies before each of its calls once; then another process commits."""
    for number in range(40):
        home = tmp_path / str(number)
        append(FileLog(str(home / "data")), A, 0, plan("a:1"))
        try:
            StoreKey(str(home / "data"), chance, MortalDisk(number)).ensure(list)
        except Death:
            pass
        else:
            break
        left = key_file(home).read_bytes() if key_file(home).exists() else b""
        again = store(home, random_bytes=other_chance)
        append(again, B, 0, [vouched("b:1")])
        assert ours(again, B) == [True]
        assert key_file(home).read_bytes().startswith(left or b"handrail-store-key 1 " + b"o".hex().encode())
    assert number > 4
