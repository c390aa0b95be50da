"""The key file: made once, kept private, refused when in doubt, followed when it rotates."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from handrail.contract import catalogue
from handrail.contract.ids import SessionId
from handrail.contract.outcome import Fault, failure_of
from handrail.contract.tokens.reading import read_token
from handrail.contract.tokens.workflow import StateClaims, mint, purpose_key, ring_key_of_secret
from handrail.host.keyring import FileKeyring, secret_of_setting
from handrail.ports.process import Keys

CLAIMS = StateClaims(session_id=SessionId("ses_0123456789ab"), node_tag="cdefghjk")


class Dice:
    """Randomness that counts: every answer is another one, and always the same."""

    def __init__(self, first: int = 1) -> None:
        self.next = first

    def bytes(self, count: int) -> bytes:
        self.next += 1
        return bytes([self.next - 1]) * count


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def keyring(home: Path) -> FileKeyring:
    return FileKeyring(str(home), Dice())


def file_of(home: Path) -> Path:
    return home / "data" / "keys" / "keyring.json"


def check_invalid(raised: pytest.ExceptionInfo[Fault], reason: str, home: Path) -> None:
    """A catalogue fault with the reason, without a path of this machine and without a key."""
    failure = failure_of(raised.value)
    shown = json.dumps([failure.message, failure.details])
    assert failure.kind is catalogue.KEYRING_INVALID
    assert failure.details == {"reason": reason}
    assert str(home) not in shown
    assert bytes([1] * 32).hex() not in shown


def test_it_keeps_the_promise_of_the_port(keyring: FileKeyring) -> None:
    keys: Keys = keyring

    assert keys.verifying_keys("workflow") == ()


def test_verifying_never_makes_a_file(home: Path, keyring: FileKeyring) -> None:
    keyring.verifying_keys("workflow")

    assert not home.exists()


@pytest.mark.promise("cli.key-private")
def test_the_first_signing_makes_the_file_private_and_whole(home: Path, keyring: FileKeyring) -> None:
    keyring.signing_key("workflow")

    stored = json.loads(file_of(home).read_bytes())
    modes = [path.stat().st_mode & 0o777 for path in (home / "data", file_of(home).parent, file_of(home))]
    assert (stored["v"], stored["current"], "previous" in stored) == (1, "01" * 32, False)
    assert modes == [0o700, 0o700, 0o600]
    assert os.listdir(file_of(home).parent) == ["keyring.json"]


def test_keys_are_derived_per_purpose_and_stay_the_same(home: Path, keyring: FileKeyring) -> None:
    ring_key = bytes([1] * 32)

    first = keyring.signing_key("workflow")

    assert first == purpose_key(ring_key, "workflow")
    assert keyring.signing_key("cursor") == purpose_key(ring_key, "cursor")
    assert keyring.verifying_keys("workflow") == (first,)
    assert FileKeyring(str(home), Dice(99)).signing_key("workflow") == first


def test_rotation_keeps_the_previous_key_only(home: Path, keyring: FileKeyring) -> None:
    tokens = []
    for _ in range(3):
        tokens.append(mint(keyring.signing_key("workflow"), CLAIMS))
        keyring.rotate()

    keys = keyring.verifying_keys("workflow")
    with pytest.raises(Fault) as raised:
        read_token(keys, tokens[1], ("state",))

    assert len(keys) == 2
    assert read_token(keys, tokens[2], ("state",)).text == tokens[2]
    assert raised.value.kind is catalogue.TOKEN_BAD_SIGNATURE
    assert file_of(home).stat().st_mode & 0o777 == 0o600


def test_a_rotation_without_a_file_makes_one(keyring: FileKeyring) -> None:
    keyring.rotate()

    assert len(keyring.verifying_keys("workflow")) == 2


def test_a_long_lived_process_follows_a_rotation_by_another(home: Path, keyring: FileKeyring) -> None:
    before = keyring.signing_key("workflow")

    FileKeyring(str(home), Dice(50)).rotate()

    after = keyring.signing_key("workflow")
    assert after == purpose_key(bytes([50] * 32), "workflow")
    assert keyring.verifying_keys("workflow") == (after, before)


def test_an_unchanged_file_is_read_once(keyring: FileKeyring, monkeypatch: pytest.MonkeyPatch) -> None:
    keyring.signing_key("workflow")

    def fail(*_: object) -> None:
        raise AssertionError("the file was opened again")

    monkeypatch.setattr(os, "open", fail)

    assert keyring.signing_key("workflow") == keyring.verifying_keys("workflow")[0]


def test_signing_after_a_lost_file_makes_new_keys(home: Path, keyring: FileKeyring) -> None:
    before = keyring.signing_key("workflow")
    file_of(home).unlink()

    assert keyring.verifying_keys("workflow") == ()
    assert keyring.signing_key("workflow") != before


@pytest.mark.promise("cli.key-private")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o620, 0o602, 0o666])
def test_file_that_others_can_open_is_refused_unchanged(home: Path, keyring: FileKeyring, mode: int) -> None:
    keyring.signing_key("workflow")
    file_of(home).chmod(mode)

    for call in (keyring.signing_key, keyring.verifying_keys):
        with pytest.raises(Fault) as raised:
            call("workflow")
        check_invalid(raised, "too_open", home)

    assert file_of(home).stat().st_mode & 0o777 == mode
    assert "chmod 600" in raised.value.message


def test_a_directory_in_which_others_can_write_is_refused(home: Path, keyring: FileKeyring) -> None:
    keyring.signing_key("workflow")
    file_of(home).parent.chmod(0o770)

    with pytest.raises(Fault) as raised:
        FileKeyring(str(home), Dice()).verifying_keys("workflow")

    check_invalid(raised, "directory_too_open", home)


def test_a_directory_that_others_can_only_list_is_no_danger(home: Path, keyring: FileKeyring) -> None:
    key = keyring.signing_key("workflow")
    file_of(home).parent.chmod(0o755)

    assert FileKeyring(str(home), Dice()).verifying_keys("workflow") == (key,)


def stored(current: str, previous: str) -> bytes:
    """The file as another program would write it."""
    check = hashlib.sha256(f"handrail.keyring\0{current}\0{previous}".encode()).hexdigest()[:16]
    return json.dumps({"v": 1, "current": current, "previous": previous, "check": check}).encode()


def _damage() -> dict[str, tuple[bytes, str]]:
    sound = stored("01" * 32, "02" * 32)
    return {
        "empty": (b"", "incomplete"),
        "cut": (sound[:60], "damaged"),
        "no json": (b"\x00\xff", "damaged"),
        "no text": (sound.replace(b"01" * 32, b"\xff" * 64), "damaged"),
        "a list": (b"[1]", "damaged"),
        "a flipped digit": (sound.replace(b"01" * 32, b"01" * 31 + b"03"), "damaged"),
        "a short key": (b'{"v":1,"current":"0101","check":""}', "damaged"),
        "an empty key": (b'{"v":1,"current":"","check":""}', "damaged"),
        "no hex": (sound.replace(b"01" * 32, b"zz" * 32), "damaged"),
        "a later version": (b'{"v":2,"rings":[]}', "unsupported_version"),
        "an unknown field": (sound.replace(b'{"v"', b'{"w": 0, "v"'), "damaged"),
        "far too much": (sound + b" " * 100_000, "damaged"),
    }


def test_a_sound_file_is_read_whoever_wrote_it(home: Path, keyring: FileKeyring) -> None:
    keyring.signing_key("workflow")
    file_of(home).write_bytes(stored("01" * 32, "02" * 32))

    keys = keyring.verifying_keys("workflow")

    assert keys == tuple(purpose_key(bytes([number] * 32), "workflow") for number in (1, 2))


@pytest.mark.parametrize(("content", "reason"), _damage().values(), ids=_damage())
def test_a_damaged_file_is_refused_never_replaced(
    home: Path, keyring: FileKeyring, content: bytes, reason: str
) -> None:
    keyring.signing_key("workflow")
    file_of(home).write_bytes(content)

    for call in (keyring.signing_key, keyring.verifying_keys):
        with pytest.raises(Fault) as raised:
            call("workflow")
        check_invalid(raised, reason, home)
    with pytest.raises(Fault) as raised:
        keyring.rotate()

    check_invalid(raised, reason, home)
    assert file_of(home).read_bytes() == content


def test_flipped_character_is_noticed_or_harmless(home: Path, keyring: FileKeyring) -> None:
    keyring.rotate()
    keys = keyring.verifying_keys("workflow")
    sound = file_of(home).read_bytes()

    seen = set()
    for place in range(len(sound)):
        file_of(home).write_bytes(sound[:place] + bytes([sound[place] ^ 1]) + sound[place + 1 :])
        try:
            seen.add(FileKeyring(str(home), Dice()).verifying_keys("workflow"))
        except Fault as fault:
            seen.add(fault.details["reason"])

    assert seen <= {keys, "damaged", "unsupported_version"}


@pytest.mark.parametrize("thing", ["link", "directory", "pipe"])
def test_only_a_regular_file_is_read(home: Path, keyring: FileKeyring, thing: str) -> None:
    keyring.signing_key("workflow")
    file_of(home).rename(home / "elsewhere.json")
    if thing == "link":
        file_of(home).symlink_to(home / "elsewhere.json")
    elif thing == "directory":
        file_of(home).mkdir(mode=0o700)
    else:
        os.mkfifo(file_of(home), 0o600)

    with pytest.raises(Fault) as raised:
        keyring.signing_key("workflow")

    check_invalid(raised, "not_a_regular_file", home)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
def test_a_file_that_cannot_be_read_is_a_named_fault(
    home: Path, keyring: FileKeyring, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    keyring.signing_key("workflow")

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number), "/secret/place")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(Fault) as raised:
        FileKeyring(str(home), Dice()).verifying_keys("workflow")

    check_invalid(raised, "unreadable", home)
    assert "/secret/place" not in raised.value.message


@pytest.mark.parametrize(
    ("number", "reason"),
    [(errno.ENOSPC, "disk_full"), (errno.EACCES, "unwritable"), (errno.EROFS, "unwritable")],
)
def test_missing_file_is_a_fault_and_no_unkeyed_token(
    home: Path, keyring: FileKeyring, monkeypatch: pytest.MonkeyPatch, number: int, reason: str
) -> None:
    """A file that cannot be made is a named fault and never an unkeyed token."""

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "write", refuse)
    for call in (lambda: keyring.signing_key("workflow"), keyring.rotate):
        with pytest.raises(Fault) as raised:
            call()
        check_invalid(raised, reason, home)

    monkeypatch.undo()
    assert "keyring.json" not in os.listdir(file_of(home).parent)
    assert keyring.signing_key("workflow")


def test_a_file_where_a_directory_should_be_is_a_named_fault(home: Path, keyring: FileKeyring) -> None:
    home.mkdir()
    (home / "data").write_bytes(b"")

    with pytest.raises(Fault) as raised:
        keyring.signing_key("workflow")

    check_invalid(raised, "unreadable", home)


@pytest.mark.promise("cli.secret-variable")
def test_an_override_takes_the_place_of_the_file(home: Path) -> None:
    secret = b"a secret of at least sixteen bytes"
    keyring = FileKeyring(str(home), Dice(), setting=secret.decode())

    key = keyring.signing_key("continuation:aa:1")

    assert key == purpose_key(ring_key_of_secret(secret), "continuation:aa:1")
    assert keyring.verifying_keys("continuation:aa:1") == (key,)
    assert not home.exists()


def test_an_override_is_not_rotated(home: Path) -> None:
    with pytest.raises(Fault) as raised:
        FileKeyring(str(home), Dice(), setting="x" * 16).rotate()

    check_invalid(raised, "overridden", home)


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("sixteen-bytes-ok", b"sixteen-bytes-ok"),
        ("base64:AAECAwQFBgcICQoLDA0ODw==", bytes(range(16))),
        ("gr\u00fc\u00dfe" * 4, "gr\u00fc\u00dfe".encode() * 4),
        ("\udcff" * 16, b"\xff" * 16),
    ],
)
def test_a_secret_is_plain_text_or_base64(text: str, secret: bytes) -> None:
    assert secret_of_setting(text) == secret


@pytest.mark.promise("cli.secret-variable")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "secret_too_short"),
        ("fifteen bytes..", "secret_too_short"),
        ("base64:AAEC", "secret_too_short"),
        ("base64:not base64 at all", "secret_malformed"),
        ("base64:AAECAwQFBgcICQoLDA0ODw", "secret_malformed"),
    ],
)
def test_a_secret_that_is_none_is_refused_without_showing_it(home: Path, text: str, reason: str) -> None:
    with pytest.raises(Fault) as raised:
        secret_of_setting(text)

    check_invalid(raised, reason, home)
    assert text == "" or text not in raised.value.message


def test_keys_do_not_show_in_a_representation(keyring: FileKeyring) -> None:
    key = keyring.signing_key("workflow")

    shown = repr(keyring) + repr(vars(keyring))

    assert key.hex() not in shown
    assert repr(key) not in shown
    assert repr(bytes([1] * 32)) not in shown


RACER = """
import os, sys
from handrail.host.keyring import FileKeyring

class Chance:
    def bytes(self, count):
        return os.urandom(count)

keyring = FileKeyring(sys.argv[1], Chance())
print("ready", flush=True)
sys.stdin.readline()
if sys.argv[2] == "rotate":
    keyring.rotate()
print(keyring.signing_key("workflow").hex())
"""


def race(home: Path, deed: str, count: int) -> list[str]:
    """Real processes that are all ready before the first may start."""
    command = [sys.executable, "-c", RACER, str(home), deed]
    pipe = subprocess.PIPE
    racers = [subprocess.Popen(command, encoding="utf-8", stdin=pipe, stdout=pipe) for _ in range(count)]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    return [racer.communicate(timeout=60)[0].strip() for racer in racers]


@pytest.mark.thorough
def test_processes_that_make_the_file_at_once_share_a_key(home: Path) -> None:
    keys = race(home, "sign", 6)

    stored = FileKeyring(str(home), Dice()).signing_key("workflow").hex()
    assert set(keys) == {stored}
    assert os.listdir(file_of(home).parent) == ["keyring.json"]


@pytest.mark.thorough
def test_processes_that_rotate_at_once_take_turns(home: Path) -> None:
    keys = race(home, "rotate", 5)

    current, previous = FileKeyring(str(home), Dice()).verifying_keys("workflow")
    assert "" not in keys
    assert current.hex() in keys
    assert current != previous
    assert sorted(os.listdir(file_of(home).parent)) == ["keyring.json", "keyring.lock"]
