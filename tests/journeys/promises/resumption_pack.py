"""What PACK, the design resumption pack, locked. The place of a row is a heading of PACK."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES = (
    Promise(
        "notes.per-step",
        "PACK, Design philosophy (hard constraints)",
        "Notes tell of one step; the recap puts them together.",
    ),
    Promise(
        "errors.corrected-call",
        "PACK, MCP reality constraints (hard facts)",
        "A refused call brings a corrected one, and that one works when it is sent.",
    ),
    Promise(
        "tools.closed-set",
        "PACK, Lock registry + coverage CI (non-optional)",
        "Agents have exactly the closed set of tools, and no tool for read models.",
    ),
    Promise(
        "rehydrate.cannot-append",
        "PACK, Lock registry + coverage CI (non-optional)",
        "Reading the pending step again gets no port that can append.",
    ),
    Promise(
        "canonical.one-form",
        "PACK, Lock registry + coverage CI (non-optional)",
        "Hashes of workflows are SHA-256 of the RFC 8785 bytes.",
    ),
    Promise(
        "builtins.catalog",
        "PACK, Workflow authoring (simple + powerful)",
        "The catalog of builtins is what the compiler itself knows.",
    ),
    Promise(
        "loops.bounded",
        "PACK, Workflow authoring (simple + powerful)",
        "A loop names its body and its limit, and no expression is a condition.",
    ),
    Promise(
        "workflows.routines",
        "PACK, Workflows vs routines",
        "Routines are listed beside workflows and marked as such.",
    ),
    Promise(
        "full-auto.disclosed",
        "PACK, Full-auto behavior: never-stop vs stop-on-user-deps",
        "What full auto did not ask or get is on record at the end.",
    ),
    Promise(
        "authoring.json-only",
        "PACK, JSON-first vs DSL vs YAML (authoring format)",
        "A workflow is JSON; another format is refused with its place.",
    ),
    Promise(
        "capabilities.top-level",
        "PACK, Capabilities: top-level vs feature pack (authoring)",
        "Capabilities stand at the top of a workflow, not among its features.",
    ),
    Promise(
        "templates.own-type",
        "PACK, Template calls: distinct step type vs syntactic sugar",
        "A template is called by a step type of its own.",
    ),
    Promise(
        "features.typed",
        "PACK, Feature configs: toggle-only vs typed configs",
        "A feature takes a setting only where its type says so.",
    ),
    Promise(
        "contracts.by-reference",
        "PACK, Output contracts: pack references vs inline schemas",
        "A contract is named by reference from a closed set; an unknown one is refused.",
    ),
    Promise(
        "contracts.packs",
        "PACK, What's still missing / open questions",
        "The contracts for capability, divergence and loop control exist.",
    ),
    Promise(
        "divergence.reasons",
        "PACK, What's still missing / open questions",
        "Divergence has a closed set of reasons.",
    ),
    Promise(
        "tokens.crypto",
        "PACK, Recent lock tightening (sessions 2025-12-21, 2025-12-23)",
        "A token is authenticated by HMAC-SHA256 with the current or the previous key.",
    ),
    Promise(
        "store.unsound",
        "PACK, Recent lock tightening (sessions 2025-12-21, 2025-12-23)",
        "An unsound session is read up to the proven point and says so; it takes no more work.",
    ),
    Promise(
        "store.witness",
        "PACK, Recent lock tightening (sessions 2025-12-21, 2025-12-23)",
        "Appending after the hold ended fails before any byte is written.",
    ),
    Promise(
        "events.closed-set",
        "PACK, Slice 3 prerequisites (complete; PR ready for review)",
        "An event of an unknown kind or version stops reading, and its version is named.",
    ),
    Promise(
        "steps.keys",
        "PACK, Implementation readiness",
        "A step in a loop has a key that names each loop and its turn.",
    ),
    Promise(
        "context.durable",
        "PACK, Slice 4a Implementation Status (2026-01-06)",
        "Context is kept with the run, merged key by key, and null takes a key away.",
    ),
)
