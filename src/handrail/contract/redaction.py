"""Keep secrets out of everything that is written: by field name, by shape, and by value. Pure.

Names catch what callers send. Shapes catch secrets in fields with other names, and in addresses.
Values catch the secrets that this process has read, wherever they appear in a text.
"""

from __future__ import annotations

import re
from binascii import b2a_base64
from collections.abc import Callable

import msgspec

from handrail.contract.outcome import Json

REDACTED = "[redacted]"
SHORTEST = 8
"""Shortest secret; a shorter one would occur in unrelated words."""

OWN_TOKENS = frozenset(
    {
        "ackToken",
        "checkpointToken",
        "confirm_token",
        "continuation_tokens",
        "correctedToken",
        "recovery_token",
        "refresh_token",
        "reissue_token",
        "retryAckToken",
        "sessionToken",
        "stateToken",
        "workToken",
    }
)
"""Fields with tokens of ours, which a caller must receive."""

OWN_FIELDS = OWN_TOKENS | {"token_kind"}
"""Those, and the field that names the kind of token."""

_FOREIGN = frozenset({"context", "artifacts", "body"})
"""Fields below which everything comes from the caller, so that no name in there is ours."""
_TELLING_NAME = (
    r"(?i)password|passwd|secret|token|authorization|cookie|api[ _-]?key|private[ _-]?key|credential"
)
# Without a scheme in front, because searching for one takes quadratic time in a long word.
_CREDENTIALS = r"(://)[^/?#\s\"'<>]*@"
_TELLING_QUERY = rf"(?i)([?&][^=&#\s\"'<>]{{0,64}}(?:{_TELLING_NAME[4:]})[^=&#\s\"'<>]{{0,64}}=)[^&#\s\"'<>]+"
_KINDS = ("st", "ak", "ck", "ch", "cu", "wk")
_MINTED = rf"(?i)(?<![0-9A-Za-z])((?:{'|'.join(_KINDS)})[0-9]|ct_|hr[aip]_)[0-9A-Za-z_.-]{{16,}}"
_SHORTEST_MINTED = 19
MINTED_BEGINNINGS = (
    *(f"{kind}{version}" for kind in _KINDS for version in range(10)),
    "ct_",
    *("hra_", "hri_", "hrp_"),
)
"""Prefixes of our tokens, in lower case."""
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def is_secret_name(name: str) -> bool:
    """Whether a field of this name may hold a secret."""
    return re.search(_TELLING_NAME, name) is not None


def redact_named_secrets(value: Json, own: frozenset[str] = OWN_FIELDS) -> Json:
    """Return the value with every text under a secret-looking name replaced; numbers and booleans stay."""
    match value:
        case dict():
            return {name: _field(name, inner, own) for name, inner in value.items()}
        case list() | tuple():
            return [redact_named_secrets(inner, own) for inner in value]
        case _:
            return value


def _field(name: str, value: Json, own: frozenset[str]) -> Json:
    if name in own:
        return value
    if is_secret_name(name):
        return change_texts(value, lambda _: REDACTED)
    return redact_named_secrets(value, frozenset() if name in _FOREIGN else own)


def change_texts(value: Json, change: Callable[[str], str], *, with_names: bool = False) -> Json:
    """Return the value with every text in it changed; `with_names` changes the names of its members too."""
    match value:
        case str():
            return change(value)
        case dict():
            changed = {
                name: change_texts(inner, change, with_names=with_names) for name, inner in value.items()
            }
            return {change(name): inner for name, inner in changed.items()} if with_names else changed
        case list() | tuple():
            return [change_texts(inner, change, with_names=with_names) for inner in value]
        case _:
            return value


def redact_credentials(text: str) -> str:
    """Return the text with the login, password and keys of every address in it replaced."""
    if "@" in text:
        text = re.sub(_CREDENTIALS, rf"\1{REDACTED}@", text)
    return re.sub(_TELLING_QUERY, rf"\1{REDACTED}", text) if "=" in text and "?" in text else text


def cut_minted_tokens(text: str) -> str:
    """Return the text with every token of ours cut short, so that a reader cannot act with one."""
    if len(text) < _SHORTEST_MINTED or not re.search(_MINTED, text):  # cheaper than replacing nothing
        return text
    return re.sub(_MINTED, r"\1…", text)


def redact_shapes(text: str) -> str:
    """Return the text without anything that looks like a secret, for text that is only stored and read."""
    return cut_minted_tokens(redact_credentials(text))


def redact_secrets(value: Json) -> Json:
    """Redact by name, and by shape everywhere except in the fields of our own tokens."""
    return _redact_shapes_in(redact_named_secrets(value), OWN_FIELDS)


def _redact_shapes_in(value: Json, own: frozenset[str]) -> Json:
    match value:
        case str():
            return redact_shapes(value)
        case dict():
            return {
                name: inner if name in own else _redact_shapes_in(inner, own) for name, inner in value.items()
            }
        case list() | tuple():
            return [_redact_shapes_in(inner, own) for inner in value]
        case _:
            return value


def find_credentials(address: str) -> tuple[bytes, ...]:
    """Return the password in an address, alone and with its user, as written and decoded; often
    there is none.
    """
    found = re.search(_CREDENTIALS, address)
    if found is None:
        return ()
    written = found[0].removeprefix(found[1])[:-1].encode(errors="surrogateescape")
    meant = re.sub(rb"%([0-9A-Fa-f]{2})", lambda code: bytes.fromhex(code[1].decode()), written)
    return tuple(form for one in (written, meant) for form in (one, one.rpartition(b":")[2]))


class Secrets:
    """The secrets that this process has read. Everything it writes goes through `redact` first."""

    def __init__(self) -> None:
        self._spellings: tuple[bytes, ...] = ()
        self._in_json: tuple[bytes, ...] = ()
        """The secrets as they appear in encoded JSON."""

    def register(self, secret: bytes) -> None:
        """Keep these bytes out of all further output, plain or in hex, base64, percent signs or a
        JSON string.
        """
        found = {form for form in _spellings(secret) if len(form) >= SHORTEST}
        # Longest first, because a part must not be replaced before the whole is found.
        self._spellings = tuple(sorted(found | set(self._spellings), key=lambda form: (-len(form), form)))
        self._in_json = tuple(_in_json(form) for form in self._spellings)

    def redact(self, content: bytes) -> bytes:
        for form in self._spellings:
            if form in content:
                content = content.replace(form, REDACTED.encode())
        return content

    def redact_text(self, text: str) -> str:
        if not self._spellings:
            return text
        return self.redact(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def redact_json(self, value: Json) -> Json:
        """Return the value with every text in it redacted, names too; most values contain no secret."""
        try:
            encoded = msgspec.json.encode(value)
        except (ValueError, TypeError):  # no JSON, such as half of a surrogate pair, so each text is redacted
            encoded = b""
        if encoded and not any(form in encoded for form in self._in_json):
            return value
        return change_texts(value, self.redact_text, with_names=True)

    def __repr__(self) -> str:
        return f"Secrets({len(self._spellings)} spellings)"  # never the secrets themselves


def _spellings(secret: bytes) -> list[bytes]:
    standard = b2a_base64(secret, newline=False)
    urlsafe = standard.replace(b"+", b"-").replace(b"/", b"_")
    percent = b"".join(bytes([byte]) if byte in _UNRESERVED else b"%%%02X" % byte for byte in secret)
    plain = secret.hex().encode()
    lower = re.sub(rb"%[0-9A-F]{2}", lambda found: found.group().lower(), percent)
    forms = [secret, plain, plain.upper(), percent, lower]
    forms += [standard, standard.rstrip(b"="), urlsafe, urlsafe.rstrip(b"=")]
    text = secret.decode("utf-8", "replace")  # bytes that are no text never stand in a JSON string
    return [*forms, msgspec.json.encode(text)[1:-1]]


def _in_json(form: bytes) -> bytes:
    """Return the bytes as they appear inside an encoded string; only ASCII is escaped there."""
    return msgspec.json.encode(form.decode("latin-1"))[1:-1].decode().encode("latin-1")
