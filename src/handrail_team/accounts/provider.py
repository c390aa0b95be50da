"""The company's identity provider: sign-in by OpenID Connect, and JWTs for `/mcp`.

The two halves of a sign-in may reach different servers, so no server stores anything between them. The
signed `state` carries what the second half needs. The PKCE verifier and the nonce are derived from it with
a key that only the servers have, so knowing the address of the callback is not enough to redeem its code.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import threading
import time
from collections.abc import Mapping
from typing import Any, Final
from urllib.error import URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, urlopen

import jwt
import msgspec

from handrail.contract.catalogue import E_AUTH, E_CONFIG, E_SERVER
from handrail.contract.outcome import Fault

PATIENCE_S: Final = 5.0
MOST_BYTES: Final = 1024 * 1024
FRESH_SECONDS: Final = 3_600.0
STATE_SECONDS: Final = 600
LEEWAY_S: Final = 30
ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")
"""Only asymmetric algorithms: a public key can never be used as a shared secret, and `none` is excluded."""


class ProviderOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The provider, and our registration there."""

    issuer: str
    origin: str
    client_id: str = ""
    """Empty if the server only checks JWTs and people do not sign in through the provider."""
    client_secret: str = ""

    @property
    def resource(self) -> str:
        """The audience that a JWT for `/mcp` must have."""
        return f"{self.origin}/mcp"

    @property
    def callback(self) -> str:
        return f"{self.origin}/sign-in/callback"


class State(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """What the second half of a sign-in needs from the first."""

    chance: str
    expires_at: int
    binding: str
    """A digest of a secret that only the page has that began the sign-in."""
    invitation: str = ""
    """The digest of an invitation, so the provider never sees the invitation."""


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """The person that the provider identified."""

    subject: str
    name: str
    state: State


class Provider:
    """One identity provider. Its configuration is fetched at the first use and again every hour."""

    def __init__(self, options: ProviderOptions) -> None:
        require_safe(options.issuer)
        self.options = options
        self._lock = threading.Lock()
        self._read_at = 0.0
        self._configuration: dict[str, Any] = {}
        self._keys: jwt.PyJWKClient | None = None

    def check_token(self, token: str) -> Mapping[str, Any]:
        """Return the claims of an access token for this server. Raises Fault E_AUTH, E_SERVER."""
        return self._verify(token, self.options.resource)

    def begin(self, key: bytes, state: State) -> str:
        """Return the address at which a person signs in."""
        spelled = _sign(key, state)
        asked = {
            "response_type": "code",
            "client_id": self.options.client_id,
            "redirect_uri": self.options.callback,
            "scope": "openid profile",
            "state": spelled,
            "nonce": _derive(key, "nonce", spelled),
            "code_challenge": _b64(hashlib.sha256(_derive(key, "pkce", spelled).encode()).digest()),
            "code_challenge_method": "S256",
        }
        address = self._configured("authorization_endpoint")
        return f"{address}{'&' if urlsplit(address).query else '?'}{urlencode(asked)}"

    def finish(self, key: bytes, spelled: str, code: str, now: int) -> Person:
        """Return the person of a callback's code. Raises Fault E_AUTH, E_SERVER."""
        state = _read_state(key, spelled, now)
        sent = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.options.callback,
            "client_id": self.options.client_id,
            "code_verifier": _derive(key, "pkce", spelled),
        }
        if self.options.client_secret:
            sent["client_secret"] = self.options.client_secret
        document = _fetch(self._configured("token_endpoint"), urlencode(sent).encode())
        claims = self._verify(str(document.get("id_token", "")), self.options.client_id)
        if not hmac.compare_digest(str(claims.get("nonce", "")), _derive(key, "nonce", spelled)):
            raise refuse_provider()
        name = str(claims.get("name") or claims.get("preferred_username") or claims["sub"])
        return Person(subject=str(claims["sub"]), name=name[:128], state=state)

    def _verify(self, token: str, audience: str) -> Mapping[str, Any]:
        try:
            signed_by = _find_key(self._key_client(), token)
            return dict(
                jwt.decode(
                    token,
                    signed_by.key,
                    algorithms=list(ALGORITHMS),
                    audience=audience,
                    issuer=self.options.issuer,
                    leeway=LEEWAY_S,
                    options={"require": ["exp", "iss", "aud", "sub"]},
                )
            )
        except jwt.PyJWKClientConnectionError as trouble:
            raise _away() from trouble
        except jwt.PyJWTError as refused:
            raise refuse_provider() from refused

    def _key_client(self) -> jwt.PyJWKClient:
        address = self._configured("jwks_uri")
        with self._lock:
            if self._keys is None or self._keys.uri != address:
                self._keys = jwt.PyJWKClient(address, lifespan=300, timeout=PATIENCE_S)
            return self._keys

    def _configured(self, name: str) -> str:
        with self._lock:
            is_fresh = self._configuration and time.monotonic() - self._read_at < FRESH_SECONDS
        if not is_fresh:
            document = _fetch(f"{self.options.issuer.rstrip('/')}/.well-known/openid-configuration")
            if document.get("issuer") != self.options.issuer:
                raise Fault(
                    E_CONFIG,
                    "The provider calls itself something else than --issuer says.",
                    details={"setting": "--issuer"},
                )
            with self._lock:
                self._configuration, self._read_at = document, time.monotonic()
        address = str(self._configuration.get(name, ""))
        require_safe(address)
        return address


def _find_key(known: jwt.PyJWKClient, token: str) -> jwt.PyJWK:
    """Return the published key that a token names, or the only key if it names none."""
    if "kid" in jwt.get_unverified_header(token):
        return known.get_signing_key_from_jwt(token)
    keys = known.get_signing_keys()
    if len(keys) != 1:
        raise jwt.PyJWKClientError("the token names no key")
    return keys[0]


def require_safe(address: str) -> None:
    """Raise Fault E_CONFIG for an address without TLS."""
    parts = urlsplit(address)
    if parts.scheme == "https" or (
        parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1")
    ):
        return
    raise Fault(
        E_CONFIG,
        "The address of an identity provider begins with https.",
        details={"setting": "--issuer"},
    )


def refuse_provider() -> Fault:
    return Fault(
        E_AUTH,
        "The identity provider does not vouch for this.",
        hint="Sign in again; a token has to be made for this server, and by its provider.",
    )


def _away() -> Fault:
    return Fault(E_SERVER, "The identity provider does not answer.", hint="Wait, then try again.")


def _fetch(address: str, sent: bytes | None = None) -> dict[str, Any]:
    """Return the JSON object at an address. Raises Fault E_SERVER."""
    headers = {"Accept": "application/json"}
    request = Request(address, data=sent, headers=headers)  # noqa: S310 - see `require_safe`
    try:
        with urlopen(request, timeout=PATIENCE_S) as answer:  # noqa: S310 - require_safe allows https and loopback
            document = msgspec.json.decode(answer.read(MOST_BYTES))
    except (URLError, TimeoutError, OSError, msgspec.DecodeError, ValueError) as trouble:
        if isinstance(trouble, URLError) and getattr(trouble, "code", 0) in (400, 401, 403):
            raise refuse_provider() from trouble
        raise _away() from trouble
    if not isinstance(document, dict):
        raise _away()
    return document


def _sign(key: bytes, state: State) -> str:
    body = _b64(msgspec.json.encode(state))
    return f"{body}.{_derive(key, 'state', body)}"


def _read_state(key: bytes, spelled: str, now: int) -> State:
    """Return the state. Raises Fault E_AUTH if it is not signed by this team's servers or has expired."""
    body, _, mac = spelled.partition(".")
    if not hmac.compare_digest(mac.encode(), _derive(key, "state", body).encode()):
        raise refuse_provider()
    try:
        padded = body + "=" * (-len(body) % 4)
        state = msgspec.json.decode(base64.urlsafe_b64decode(padded), type=State)
    except (binascii.Error, msgspec.DecodeError) as error:
        raise refuse_provider() from error
    if now >= state.expires_at:
        raise refuse_provider()
    return state


def _derive(key: bytes, what: str, about: str) -> str:
    return _b64(hmac.digest(key, f"{what}:{about}".encode(), "sha256"))


def _b64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
