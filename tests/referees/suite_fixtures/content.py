"""The smallest picture, sound and embedded text that are valid of their kind."""

from __future__ import annotations

import base64
import io
import struct
import wave
import zlib

from handrail.contract.outcome import Json


def text(words: str) -> dict[str, Json]:
    return {"type": "text", "text": words}


def embedded(uri: str, mime_type: str, words: str) -> dict[str, Json]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": words}}


def _png() -> str:
    """One red pixel."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\x00\xff\x00\x00")
    file = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    return base64.b64encode(file).decode("ascii")


def _wav() -> str:
    """Eight silent samples."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(8_000)
        sound.writeframes(b"\x80" * 8)
    return base64.b64encode(file.getvalue()).decode("ascii")


PNG = _png()
IMAGE: dict[str, Json] = {"type": "image", "data": PNG, "mimeType": "image/png"}
AUDIO: dict[str, Json] = {"type": "audio", "data": _wav(), "mimeType": "audio/wav"}
