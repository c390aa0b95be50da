"""Asking another server over HTTP, for `lafs check --url`: one request, no redirect, within limits."""

from __future__ import annotations

import http.client
import os
import ssl
import urllib.parse
from collections.abc import Mapping

import msgspec

from handrail.contract.catalogue import E_CONFIG, E_NETWORK, E_TIMEOUT, E_VALIDATION
from handrail.contract.conformance.served import MOST_ANSWER_BYTES, Exchange
from handrail.contract.outcome import Fault
from handrail.contract.wording import quote
from handrail.host.private_files import open_regular_file

ANSWER_SECONDS = 15
_LONGEST_TOKEN_FILE = 65_536


class LocalHttpClient:
    """`ports.HttpClient` on this machine's network."""

    def ask(self, method: str, url: str, headers: Mapping[str, str]) -> Exchange:
        address = urllib.parse.urlsplit(url)
        connection = _connect(address)
        target = urllib.parse.urlunsplit(("", "", address.path or "/", address.query, ""))
        try:
            connection.request(method, target, b"{}" if method == "POST" else None, dict(headers))
            answer = connection.getresponse()
            body = answer.read(MOST_ANSWER_BYTES + 1)
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
        if len(body) > MOST_ANSWER_BYTES:
            raise Fault(E_NETWORK, "The answer of the server is too large.")
        return Exchange(
            method=method,
            url=url,
            status=answer.status,
            headers={name.lower(): value for name, value in answer.getheaders()},
            body=body,
        )

    def read_token(self, path: str) -> str:
        """The token in a file: alone, or as `run/server.json` of a home has it."""
        try:
            with open(os.path.expanduser(path), "rb", opener=open_regular_file) as file:
                content = file.read(_LONGEST_TOKEN_FILE).strip()
        except OSError as trouble:
            raise Fault(
                E_CONFIG, f"The token file {quote(path)} cannot be read: {trouble.strerror}."
            ) from trouble
        if content.startswith(b"{"):
            try:
                content = msgspec.json.decode(content)["token"].encode()
            except (msgspec.DecodeError, KeyError, AttributeError):
                content = b""
        if not content.isascii() or not content.isalnum():
            raise Fault(E_CONFIG, f"The token file {quote(path)} holds no token.")
        return content.decode()


def _connect(address: urllib.parse.SplitResult) -> http.client.HTTPConnection:
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
        return http.client.HTTPSConnection(address.hostname, port, timeout=ANSWER_SECONDS)
    return http.client.HTTPConnection(address.hostname, port, timeout=ANSWER_SECONDS)
