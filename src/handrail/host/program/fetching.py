"""Fetching one address of a package index, with limits. Errors name a type and a status, never the answer.

Credentials in an address are sent only to its own host and are never part of a message.
"""

from __future__ import annotations

import netrc
import ssl
import urllib.error
import urllib.parse
import urllib.request
from base64 import b64encode
from http.client import HTTPException, HTTPMessage
from typing import IO, Any

from handrail.contract.catalogue import (
    E_INTEGRITY,
    E_NETWORK,
    E_SERVER,
    E_TIMEOUT,
    E_VALIDATION,
)
from handrail.contract.outcome import Fault
from handrail.ports.program import Fetched
from handrail.program.update.package_index import kind_of_upstream, wait_ms_of_header

FETCH_SECONDS = 15
MOST_BYTES = 33_554_432
_WEB = ("http", "https")


class Silence(Fault):
    """There was no answer, so asking again can help. A refusal is an answer."""


def fetch_address(url: str, accept: str) -> Fetched | Fault:
    """The content of the address, or what is wrong with it."""
    try:
        address = urllib.parse.urlsplit(url)
        if address.scheme not in _WEB or not address.netloc:
            return Fault(E_VALIDATION, "The index is not an http: or https: address.")
        return _from_web(address, accept)
    except Fault as fault:
        return fault
    except urllib.error.HTTPError as trouble:
        return _refused(trouble)
    except TimeoutError:
        return Silence(E_TIMEOUT, "The index did not answer in time.")
    except urllib.error.URLError as trouble:
        return _unreachable(trouble.reason)
    except (OSError, ValueError, HTTPException):
        return Silence(E_NETWORK, "The connection to the index broke.")


def add_login(url: str, file: str) -> str:
    """Add the user and password of a `.netrc` file for the host, as package managers do."""
    address = urllib.parse.urlsplit(url)
    if address.scheme not in _WEB or "@" in address.netloc:
        return url
    try:
        kept = netrc.netrc(file).authenticators(address.hostname or "")
    except (OSError, ValueError, netrc.NetrcParseError):
        return url
    if kept is None:
        return url
    user, _, password = kept
    login = f"{urllib.parse.quote(user or '', safe='')}:{urllib.parse.quote(password or '', safe='')}"
    return urllib.parse.urlunsplit(address._replace(netloc=f"{login}@{address.netloc}"))


class _Careful(urllib.request.HTTPRedirectHandler):
    """Follows a redirect to another host, without credentials, but never from https to something weaker."""

    max_redirections = 5

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        following = super().redirect_request(req, fp, code, msg, headers, newurl)
        before, after = urllib.parse.urlsplit(req.full_url), urllib.parse.urlsplit(newurl)
        held = req.get_header("Authorization")
        if following is not None and held and _place(before) == _place(after):
            following.add_unredirected_header("Authorization", held)
        return following

    def http_error_302(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage
    ) -> Any:
        leads_to = urllib.parse.urljoin(req.full_url, headers.get("Location") or headers.get("URI") or "")
        if not is_safe_redirect(req.full_url, leads_to):
            raise Fault(
                E_INTEGRITY,
                "The index redirects to an address without encryption.",
                hint="Do not try again. Check the address of the index.",
            )
        return super().http_error_302(req, fp, code, msg, headers)

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def is_safe_redirect(here: str, there: str) -> bool:
    """Whether a redirect is followed: to the web only, and never away from an encrypted connection."""
    before, after = urllib.parse.urlsplit(here).scheme, urllib.parse.urlsplit(there).scheme
    return after == "https" or (after == "http" and before == "http")


def _place(address: urllib.parse.SplitResult) -> tuple[str, str, int | None]:
    return address.scheme, address.hostname or "", address.port


def _from_web(address: urllib.parse.SplitResult, accept: str) -> Fetched:
    secret, _, host = address.netloc.rpartition("@")
    bare = urllib.parse.urlunsplit(address._replace(netloc=host, fragment=""))
    # The scheme was checked.
    request = urllib.request.Request(bare, headers={"Accept": accept, "User-Agent": "handrail-update"})  # noqa: S310
    if secret:
        spelled = urllib.parse.unquote(secret).encode()
        spelled = spelled if b":" in spelled else spelled + b":"
        request.add_unredirected_header("Authorization", "Basic " + b64encode(spelled).decode())
    opener = urllib.request.build_opener(_Careful)
    with opener.open(request, timeout=FETCH_SECONDS) as answer:
        content = answer.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise Fault(E_NETWORK, "The answer of the index is too large.")
        stated = answer.headers.get("Content-Length", "")
        if stated.isdecimal() and len(content) < int(stated):  # read() with a limit does not raise
            raise Silence(E_NETWORK, "The connection to the index broke.")
        return Fetched(content=content, url=answer.geturl())


def _refused(trouble: urllib.error.HTTPError) -> Fault:
    with trouble:
        wait_ms = wait_ms_of_header(trouble.headers.get("Retry-After"))
    if 300 <= trouble.code < 400:
        return Fault(E_SERVER, "The index redirects without end.")
    kind = kind_of_upstream(trouble.code)
    return Fault(kind, f"The index answered with the status {trouble.code}.", retry_after_ms=wait_ms)


def _unreachable(reason: Any) -> Silence:
    if isinstance(reason, TimeoutError):
        return Silence(E_TIMEOUT, "The index did not answer in time.")
    if isinstance(reason, ssl.SSLCertVerificationError):
        return Silence(E_NETWORK, "The certificate of the index could not be verified.")
    return Silence(E_NETWORK, "The index could not be reached.")
