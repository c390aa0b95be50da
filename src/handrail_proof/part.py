"""What the proof of the store brings to the program."""

from __future__ import annotations

from handrail.runtime.operation import Part

PART = Part(
    package="handrail_proof",
    operations={"store.selftest": "handrail_proof.selftest_store"},
    commands="handrail_proof.commands",
    adapters={"proof": "handrail_proof.selftest:ScratchProof"},
)
