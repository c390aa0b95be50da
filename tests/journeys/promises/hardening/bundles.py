"""What the rules promise of sessions that leave and come in (hardening)."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    hardening, H6
      bundles.same-limits: A session that an import would refuse is not exported, and the limit and a way
          out are told.
      bundles.honest-text: Large notes, large artifacts and branches leave and come in, whatever characters
          they hold.
      bundles.no-half-file: An export that is cut off leaves nothing under the name of its file.
    hardening, H7
      bundles.preview: The preview of an import has the digests of pinned prompts, and on request all texts,
          as data.
    hardening, H10
      bundles.contracts: A contract inside a bundle is checked like a file.
    hardening, must hold
      bundles.hostile: No bundle of the hostile set breaks a command or passes for work of this store.
    """
)
