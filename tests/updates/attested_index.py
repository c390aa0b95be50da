"""The index of these tests with a provenance beside each wheel, as PEP 740 lays it out."""

from __future__ import annotations

import http.server
import threading
from pathlib import Path
from typing import Any

import msgspec

from tests.updates.releases import NEW, Index
from tests.updates.trust_world import Flaw, TrustWorld

WHEEL = f"handrail-{NEW}-py3-none-any.whl"


class AttestedIndex(Index):
    """Offers what a test signed; without that, a provenance that holds."""

    def __init__(self, folder: Path, world: TrustWorld) -> None:
        self.world = world
        self.provenance: bytes | None = b""
        self.status = 200
        self.is_stalling = False
        self.asked = threading.Event()
        super().__init__(folder)
        self.restore()

    def restore(self) -> None:
        self.trouble, self.is_tampered, self.status = {}, False, 200
        self.is_stalling = False
        self.asked.clear()
        self.sign()

    def sign(self, flaw: Flaw = "", **otherwise: Any) -> None:
        self.provenance = self.world.provenance(self.attestation(flaw, **otherwise))

    def attestation(self, flaw: Flaw = "", **otherwise: Any) -> dict[str, Any]:
        named = {"name": WHEEL, "sha256": super().digest(WHEEL), "version": NEW, **otherwise}
        return self.world.attestation(flaw=flaw, **named)

    def answer(self, request: http.server.BaseHTTPRequestHandler) -> None:
        if not request.path.endswith(".provenance") or self.trouble:
            super().answer(request)
            return
        self.asked.set()
        if self.is_stalling:
            self.stalled.wait(120)
            return
        content = self.provenance or b""
        request.send_response(self.status)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)

    def listing(self) -> bytes:
        listed = msgspec.json.decode(super().listing())
        for file in listed["files"]:
            if file["filename"] == WHEEL and self.provenance is not None:
                file["provenance"] = f"/files/{WHEEL}.provenance"
        return msgspec.json.encode(listed)
