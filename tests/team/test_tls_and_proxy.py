"""How a team server is reached: encrypted by itself, or by a proxy that is named; nobody else is answered."""

from __future__ import annotations

import datetime
import ipaddress
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.team.postgres import as_url
from tests.team.team_process import TeamServer

pytestmark = pytest.mark.thorough

WAIT_S = 60


@pytest.fixture
def serve(team_database: str, tmp_path: Path) -> Iterator[Callable[..., TeamServer]]:
    with ExitStack() as stack:

        def start(*flags: str) -> TeamServer:
            made = TeamServer(tmp_path / "home", as_url(team_database), *flags)
            stack.callback(made.stop)
            return made

        yield start


def make_certificate(folder: Path) -> tuple[str, str]:
    """A certificate of 127.0.0.1 that it signed itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(here, critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    told = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(told)
    return str(folder / "cert.pem"), str(folder / "key.pem")


def test_server_with_a_certificate_answers_nothing_plain(
    serve: Callable[..., TeamServer], tmp_path: Path
) -> None:
    certificate, key = make_certificate(tmp_path)
    server = serve("--tls-cert", certificate, "--tls-key", key)
    trusting = ssl.create_default_context(cafile=certificate)

    with urllib.request.urlopen(f"{server.address}sign-in", timeout=WAIT_S, context=trusting) as answered:
        told = json.load(answered)

    assert server.address.startswith("https://127.0.0.1:")
    assert told == {"ways": ["passphrase"]}
    with pytest.raises(OSError):
        urllib.request.urlopen(f"{server.address.replace('https', 'http')}sign-in", timeout=WAIT_S)


@pytest.mark.parametrize(("proxy", "status"), [("127.0.0.1", 200), ("127.0.0.9", 421)])
def test_only_the_proxy_that_is_named_is_answered(
    serve: Callable[..., TeamServer], proxy: str, status: int
) -> None:
    server = serve("--proxy", proxy)
    forged = {"X-Forwarded-For": "127.0.0.9", "Forwarded": "for=127.0.0.9"}
    request = urllib.request.Request(f"{server.address}sign-in", headers=forged)

    try:
        with urllib.request.urlopen(request, timeout=WAIT_S) as answered:
            found = answered.status
    except urllib.error.HTTPError as refused:
        found = refused.code

    assert found == status
