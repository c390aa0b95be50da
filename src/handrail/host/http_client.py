"""Asking another server over HTTP, for a team: one request, within limits."""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import urllib.parse
from collections.abc import Mapping

from handrail.contract.catalogue import E_NETWORK, E_TIMEOUT, E_VALIDATION
from handrail.contract.outcome import Fault
from handrail.contract.wording import quote
from handrail.ports.server import Exchange

ANSWER_SECONDS = 15
MOST_ANSWER_BYTES = 4_194_304


class LocalHttpClient:
    """`ports.HttpClient` on this machine's network."""

    def ask(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes = b"{}",
        seconds: float = ANSWER_SECONDS,
        most_bytes: int = MOST_ANSWER_BYTES,
        *,
        is_public_only: bool = False,
    ) -> Exchange:
        address = urllib.parse.urlsplit(url)
        connection = _connect(address, seconds)
        if is_public_only:
            _hold_to_public(connection)
        target = urllib.parse.urlunsplit(("", "", address.path or "/", address.query, ""))
        try:
            connection.request(method, target, body if method == "POST" else None, dict(headers))
            answer = connection.getresponse()
            content = answer.read(most_bytes + 1)
        except TimeoutError:
            raise Fault(E_TIMEOUT, "The server did not answer in time.") from None
        except ssl.SSLError:
            raise Fault(E_NETWORK, "The encrypted connection to the server failed.") from None
        except (OSError, http.client.HTTPException):
            raise Fault(
                E_NETWORK,
                f"There is no answer at {quote(address.netloc)}.",
                hint="Start the server, or check the address.",
            ) from None
        finally:
            connection.close()
        if len(content) > most_bytes:
            raise Fault(E_NETWORK, "The answer of the server is too large.")
        return Exchange(
            method=method,
            url=url,
            status=answer.status,
            headers={name.lower(): value for name, value in answer.getheaders()},
            body=content,
        )


def _hold_to_public(connection: http.client.HTTPConnection) -> None:
    """Refuse an address of a private network: looked up once, and that very address is connected to."""
    try:
        found = socket.getaddrinfo(connection.host, connection.port, type=socket.SOCK_STREAM)
    except OSError:
        raise Fault(E_NETWORK, f"There is no host {quote(connection.host)}.") from None
    places = [str(row[4][0]) for row in found]
    if not places or not all(ipaddress.ip_address(place.partition("%")[0]).is_global for place in places):
        raise Fault(
            E_NETWORK,
            f"{quote(connection.host)} is an address of a private network.",
            hint="Set notify.allowPrivate where that is meant.",
        )

    def connect(address: tuple[str, int], *more: object) -> socket.socket:
        # As the library calls it.
        return socket.create_connection((places[0], address[1]), *more)  # type: ignore[arg-type]

    connection._create_connection = connect  # type: ignore[attr-defined]  # its one seam for an address


def _connect(address: urllib.parse.SplitResult, seconds: float) -> http.client.HTTPConnection:
    try:
        port = address.port
    except ValueError:
        port = -1
    if address.scheme not in ("http", "https") or not address.hostname or port == -1 or "@" in address.netloc:
        raise Fault(
            E_VALIDATION,
            "The address of the server is not an http or https address.",
            details={"param": "url", "expected": "http://127.0.0.1:7245/"},
        )
    if address.scheme == "https":
        return http.client.HTTPSConnection(address.hostname, port, timeout=seconds)
    return http.client.HTTPConnection(address.hostname, port, timeout=seconds)
