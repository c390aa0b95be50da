"""What the rules promise of sessions that leave and come in (hardening)."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES: tuple[Promise, ...] = (
    Promise(
        "bundles.same-limits",
        source="hardening, H6",
        says="A session that an import would refuse is not exported, and the limit and a way out are told.",
    ),
    Promise(
        "bundles.honest-text",
        source="hardening, H6",
        says="Large notes, large artifacts and branches leave and come in, whatever characters they hold.",
    ),
    Promise(
        "bundles.no-half-file",
        source="hardening, H6",
        says="An export that is cut off leaves nothing under the name of its file.",
    ),
    Promise(
        "bundles.preview",
        source="hardening, H7",
        says="The preview of an import has the digests of pinned prompts, and on request all texts, as data.",
    ),
    Promise(
        "bundles.contracts",
        source="hardening, H10",
        says="A contract inside a bundle is checked like a file.",
    ),
    Promise(
        "bundles.hostile",
        source="hardening, must hold",
        says="No bundle of the hostile set breaks a command or passes for work of this store.",
    ),
)
