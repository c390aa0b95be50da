"""Fetching one address of a package index, with limits. Errors name a type and a status, never the answer.

No request has credentials, and no message has an address.
"""

from __future__ import annotations

import ssl
import urllib.error
import urllib.parse
import urllib.request
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
        return _from_web(url, accept)
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


class _Careful(urllib.request.HTTPRedirectHandler):
    """Follows a redirect to another host, but never from https to something weaker."""

    max_redirections = 5

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


def _from_web(url: str, accept: str) -> Fetched:
    # The scheme was checked.
    request = urllib.request.Request(url, headers={"Accept": accept, "User-Agent": "handrail-update"})  # noqa: S310
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
