"""What PACK, the design resumption pack, locked. The place of a row is a heading of PACK."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    PACK, Design philosophy (hard constraints)
      notes.per-step: Notes tell of one step; the recap puts them together.
    PACK, MCP reality constraints (hard facts)
      errors.corrected-call: A refused call brings a corrected one, and that one works when it is sent.
    PACK, Lock registry + coverage CI (non-optional)
      tools.closed-set: Agents have exactly the closed set of tools, and no tool for read models.
      rehydrate.cannot-append: Reading the pending step again gets no port that can append.
      canonical.one-form: Hashes of workflows are SHA-256 of the RFC 8785 bytes.
    PACK, Workflow authoring (simple + powerful)
      builtins.catalog: The catalog of builtins is what the compiler itself knows.
      loops.bounded: A loop names its body and its limit, and no expression is a condition.
    PACK, Workflows vs routines
      workflows.routines: Routines are listed beside workflows and marked as such.
    PACK, Full-auto behavior: never-stop vs stop-on-user-deps
      full-auto.disclosed: What full auto did not ask or get is on record at the end.
    PACK, JSON-first vs DSL vs YAML (authoring format)
      authoring.json-only: A workflow is JSON; another format is refused with its place.
    PACK, Capabilities: top-level vs feature pack (authoring)
      capabilities.top-level: Capabilities stand at the top of a workflow, not among its features.
    PACK, Template calls: distinct step type vs syntactic sugar
      templates.own-type: A template is called by a step type of its own.
    PACK, Feature configs: toggle-only vs typed configs
      features.typed: A feature takes a setting only where its type says so.
    PACK, Output contracts: pack references vs inline schemas
      contracts.by-reference: A contract is named by reference from a closed set; an unknown one is refused.
    PACK, What's still missing / open questions
      contracts.packs: The contracts for capability, divergence and loop control exist.
      divergence.reasons: Divergence has a closed set of reasons.
    PACK, Recent lock tightening (sessions 2025-12-21, 2025-12-23)
      tokens.crypto: A token is authenticated by HMAC-SHA256 with the current or the previous key.
      store.unsound: An unsound session is read up to the proven point and says so; it takes no more work.
      store.witness: Appending after the hold ended fails before any byte is written.
    PACK, Slice 3 prerequisites (complete; PR ready for review)
      events.closed-set: An event of an unknown kind or version stops reading, and its version is named.
    PACK, Implementation readiness
      steps.keys: A step in a loop has a key that names each loop and its turn.
    PACK, Slice 4a Implementation Status (2026-01-06)
      context.durable: Context is kept with the run, merged key by key, and null takes a key away.
    """
)
