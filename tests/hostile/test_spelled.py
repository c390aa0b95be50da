"""The search for a canary finds it in every form from which it could be read, and nothing else."""

from __future__ import annotations

import base64
import json

from tests.cases import every_case
from tests.hostile.spelled import carries

SECRET = b"canary-Setting-55d0c1/+x"
HALF = len(SECRET) // 2


@every_case(
    "form",
    [
        SECRET,
        SECRET.upper(),
        SECRET[::-1],
        SECRET.hex().encode(),
        SECRET.hex(" ").upper().encode(),
        SECRET[::-1].hex().encode(),
        base64.b64encode(SECRET),
        base64.b64encode(b"x" + SECRET + b"tail"),
        base64.urlsafe_b64encode(b"xy" + SECRET),
        base64.b64encode(SECRET)[::-1],
        base64.encodebytes(SECRET * 4),
        base64.b32encode(SECRET),
        SECRET[:HALF] + b'", "' + SECRET[HALF:],
        SECRET[:HALF] + b"\\n" + SECRET[HALF:],
        b"-".join(bytes([one]) for one in SECRET),
        "".join(f"\\u{one:04x}" for one in SECRET).encode(),
        "".join(f"%{one:02X}" for one in SECRET).encode(),
        json.dumps({"a": SECRET.decode()}).encode(),
    ],
)
def test_a_secret_is_found_however_it_is_spelled(form: bytes) -> None:
    assert carries(b"before " + form + b" after", SECRET)


@every_case("text", [b"", b"canary-Setting", b"canary setting 55d0c2/+x", SECRET[:-4], bytes(300)])
def test_what_is_not_the_secret_is_not_taken_for_it(text: bytes) -> None:
    assert not carries(text, SECRET)
