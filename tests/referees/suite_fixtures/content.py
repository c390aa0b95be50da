"""The smallest picture, sound and embedded text that are valid of their kind."""

from __future__ import annotations

import base64
import io
import struct
import wave
import zlib

import mcp_types


def text(words: str) -> mcp_types.TextContent:
    return mcp_types.TextContent(type="text", text=words)


def embedded(uri: str, mime_type: str, words: str) -> mcp_types.EmbeddedResource:
    held = mcp_types.TextResourceContents(uri=uri, mime_type=mime_type, text=words)
    return mcp_types.EmbeddedResource(type="resource", resource=held)


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
IMAGE = mcp_types.ImageContent(type="image", data=PNG, mime_type="image/png")
AUDIO = mcp_types.AudioContent(type="audio", data=_wav(), mime_type="audio/wav")
