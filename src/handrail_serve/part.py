"""What the server brings to the program."""

from __future__ import annotations

from handrail.runtime.operation import Part

PART = Part(
    package="handrail_serve",
    adapters={"serve": "handrail_serve.command:start_server"},
)
