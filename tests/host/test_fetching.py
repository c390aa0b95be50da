"""Addresses of an index: which redirect is followed, and what a broken server becomes."""

from __future__ import annotations

import socket
import threading

from handrail.contract.outcome import Fault
from handrail.host.program.fetching import fetch_address, is_safe_redirect
from tests.cases import every_case


@every_case(
    ("here", "there", "is_followed"),
    [
        ("https://a.example.org", "https://b.example.org", True),
        ("http://a.example.org", "https://a.example.org", True),
        ("http://a.example.org", "http://b.example.org", True),
        ("https://a.example.org", "http://a.example.org", False),
        ("https://a.example.org", "file:///etc/passwd", False),
        ("http://a.example.org", "ftp://a.example.org", False),
        ("http://a.example.org", "data:text/html,x", False),
    ],
)
def test_a_redirect_never_leads_to_something_weaker(here: str, there: str, is_followed: bool) -> None:
    assert is_safe_redirect(here, there) is is_followed


@every_case(
    ("answer", "code"),
    [
        (b"", "E_NETWORK"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", "E_NETWORK"),
        (b"not a protocol\r\n\r\n", "E_NETWORK"),
        (b"HTTP/1.1 302 Found\r\nLocation: https://[bad\r\n\r\n", "E_NETWORK"),
        (b"HTTP/1.1 302 Found\r\n\r\n", "E_SERVER"),
        (b"HTTP/1.1 418 Teapot\r\n\r\n", "E_VALIDATION"),
    ],
)
def test_broken_protocol_of_a_server_raises_nothing(answer: bytes, code: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(answer)

        worker = threading.Thread(target=serve, daemon=True)
        worker.start()
        found = fetch_address(f"http://127.0.0.1:{server.getsockname()[1]}/", "*/*")
        worker.join(60)

    assert isinstance(found, Fault)
    assert found.kind.code == code


@every_case("url", ["file:///etc/passwd", "/etc/passwd", "gopher://index.test/", "http:///x", "\0"])
def test_only_addresses_of_the_web_are_fetched(url: str) -> None:
    found = fetch_address(url, "*/*")

    assert isinstance(found, Fault)
    assert found.kind.code == "E_VALIDATION"


def test_no_message_holds_an_address() -> None:
    found = fetch_address("http://agent:open-sesame@127.0.0.1:9/", "*/*")

    assert isinstance(found, Fault)
    assert "sesame" not in f"{found}{found.message}{found.details}"
