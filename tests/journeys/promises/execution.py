"""What EXEC, the workflow execution contract, promises. The place of a row is a heading of EXEC."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES = (
    Promise(
        "errors.as-data",
        "EXEC, Error handling (normative)",
        "Trouble is an answer with a code and a next step at every door; nothing is thrown at the caller.",
    ),
    Promise(
        "errors.retry",
        "EXEC, Error handling (normative)",
        "Whether and when to send a call again is a field with closed values.",
    ),
    Promise(
        "replies.both-channels",
        "EXEC, Recorded decisions (from design discussions)",
        "Replies of start, continue and checkpoint are whole as text and whole as data.",
    ),
    Promise(
        "replies.no-template-version",
        "EXEC, Recorded decisions (from design discussions)",
        "No answer tells which version of the text rules made it.",
    ),
    Promise(
        "workflows.read-only",
        "EXEC, Tool Set",
        "Listing and inspecting workflows change no byte of the store.",
    ),
    Promise(
        "workflows.inspected",
        "EXEC, `inspect_workflow`",
        "A workflow can be looked at before it is started: what it needs and its steps.",
    ),
    Promise(
        "start.first-step", "EXEC, `start_workflow`", "A start returns the first pending step and its tokens."
    ),
    Promise(
        "continue.advances",
        "EXEC, `continue_workflow`",
        "An ack moves the run to its next step, and to the end.",
    ),
    Promise(
        "continue.rehydrate.pure",
        "EXEC, `continue_workflow`",
        "A stateToken alone changes nothing and brings a recap.",
    ),
    Promise(
        "checkpoint.keeps-the-step",
        "EXEC, `checkpoint_workflow` (optional / experimental)",
        "A checkpoint keeps notes; the pending step stays.",
    ),
    Promise(
        "checkpoint.no-fork",
        "EXEC, `checkpoint_workflow` (optional / experimental)",
        "A checkpoint never turns a remembered ack into a fork.",
    ),
    Promise(
        "checkpoint.handle",
        "EXEC, `checkpoint_workflow` (optional / experimental)",
        "Only a token that we minted makes a checkpoint; one slip is repaired and told, more are refused.",
    ),
    Promise(
        "resume.by-id",
        "EXEC, `resume_session` (optional / feature-flagged)",
        "A session or run id leads back to the pending step.",
    ),
    Promise(
        "resume.latest",
        "EXEC, `resume_session` (optional / feature-flagged)",
        "Without a query the latest sessions are offered.",
    ),
    Promise(
        "flow.basic",
        "EXEC, Basic flow (single workflow)",
        "List, inspect, start, then continue until the run is complete and nothing is pending.",
    ),
    Promise(
        "gaps.never-stop",
        "EXEC, Full-auto execution (modes)",
        "Never-stop goes on, warns in its reply and records a critical gap instead.",
    ),
    Promise(
        "modes.stop-on-user",
        "EXEC, Full-auto execution (modes)",
        "Stop-on-user waits only for what the user alone can give, not for confirmations.",
    ),
    Promise(
        "runs.interleaved",
        "EXEC, Multiple workflows (sequential, parallel, nested)",
        "Runs are advanced in any order, in one session or several, and never touch each other.",
    ),
    Promise(
        "tokens.opaque",
        "EXEC, `stateToken` (opaque snapshot)",
        "Every token of a next call is ready to send; it spells its session's id, nothing else of the run.",
    ),
    Promise(
        "tokens.checked",
        "EXEC, `stateToken` (opaque snapshot)",
        "A token that is made up, of another version or misspelt in two places is refused by its own code.",
    ),
    Promise(
        "start.hash",
        "EXEC, `workflowHash` (pinned workflow identity)",
        "A run names the digest of the compiled workflow that is stored with it.",
    ),
    Promise(
        "continue.replay.same-bytes",
        "EXEC, `ackToken` (opaque completion acknowledgement)",
        "A repeated ack gets the recorded reply, writes nothing.",
    ),
    Promise(
        "continue.replay.no-recompute",
        "EXEC, `ackToken` (opaque completion acknowledgement)",
        "A replay decides nothing again: it answers though deciding would fail now.",
    ),
    Promise(
        "tokens.scope",
        "EXEC, `ackToken` (opaque completion acknowledgement)",
        "Tokens of different replies are refused together.",
    ),
    Promise(
        "blocked.replay",
        "EXEC, `ackToken` (opaque completion acknowledgement)",
        "A blocked reply is replayed byte for byte.",
    ),
    Promise(
        "continue.branches",
        "EXEC, Branching and “attempt acks” (normative)",
        "N fresh attempts at one node give N branches.",
    ),
    Promise(
        "checkpoint.replay",
        "EXEC, `checkpointToken` (opaque checkpoint acknowledgement)",
        "A repeated checkpoint adds no node, edge or output and gets the same answer.",
    ),
    Promise(
        "checkpoint.scope",
        "EXEC, `checkpointToken` (opaque checkpoint acknowledgement)",
        "A checkpoint token works at its own node of its own run only.",
    ),
    Promise(
        "context.limits",
        "EXEC, `context` (external inputs)",
        "Reserved keys and too much context are refused; nothing is stored.",
    ),
    Promise(
        "context.external",
        "EXEC, `context` (external inputs)",
        "Context decides the way, is never echoed, and holds no progress of the run.",
    ),
    Promise(
        "preferences.closed-set",
        "EXEC, Preferences (closed set)",
        "Preferences are two names with closed values; anything else is refused.",
    ),
    Promise(
        "preferences.own",
        "EXEC, Scopes and precedence",
        "What one start asked for holds for that run and changes no other.",
    ),
    Promise(
        "preferences.node",
        "EXEC, Node-attached effective preferences",
        "The mode holds along the run and is told in replies.",
    ),
    Promise(
        "preferences.replayed",
        "EXEC, Node-attached effective preferences",
        "Going back to an older node brings back the preferences of that node.",
    ),
    Promise(
        "capabilities.closed-set",
        "EXEC, Capabilities (closed set)",
        "Capabilities are delegation and web_browsing; a workflow cannot name another.",
    ),
    Promise(
        "capabilities.hashed", "EXEC, Desired vs observed", "What a workflow requires is part of its hash."
    ),
    Promise(
        "capabilities.recorded",
        "EXEC, Desired vs observed",
        "What was observed is in the log and comes back in a process that saw nothing of it.",
    ),
    Promise(
        "capabilities.required",
        "EXEC, Probing and degradation",
        "A required capability is probed before work.",
    ),
    Promise(
        "capabilities.tried",
        "EXEC, Recording capability observations (recommended)",
        "A status that was only claimed opens no step that requires the capability.",
    ),
    Promise(
        "capabilities.never-stop",
        "EXEC, Web browsing required: injected early probe",
        "Never-stop goes on without a required capability and records a critical gap.",
    ),
    Promise(
        "capabilities.preferred",
        "EXEC, Probing and degradation",
        "A missing preferred one is a warning only.",
    ),
    Promise(
        "outputs.one-path",
        "EXEC, Durable outputs (`output` envelope)",
        "What was sent as output is there after a loss; what was sent as context is not retold.",
    ),
    Promise(
        "continue.fork",
        "EXEC, Resumption vs rewind behavior (normative)",
        "Advancing an older node forks by itself and tells what was there.",
    ),
    Promise(
        "recap.tip",
        "EXEC, Resumption vs rewind behavior (normative)",
        "At a tip the way so far comes back, with nothing about branches.",
    ),
    Promise(
        "recap.budget",
        "EXEC, Recap budgets and truncation (normative)",
        "A long recap keeps the newest entries and says in text and data how many it left out.",
    ),
    Promise(
        "user-only.answer",
        "EXEC, User-only dependencies (normative)",
        "What only the user can give waits for the user's answer.",
    ),
    Promise(
        "user-only.reasons",
        "EXEC, User-only dependencies (normative)",
        "Each of the six reasons blocks, and is a critical gap with the same name in never-stop.",
    ),
    Promise(
        "blocked.or-gap",
        "EXEC, Blocked vs gaps (mode-driven, drift prevention) (recommended)",
        "One report is a blocker in one mode and a gap in the other, for the same reason.",
    ),
    Promise(
        "blocked.invalid",
        "EXEC, `blocked.blockers[]` schema (normative)",
        "What does not fit is named, with an example that does.",
    ),
    Promise(
        "blocked.shape",
        "EXEC, `blocked.blockers[]` schema (normative)",
        "A blocker has code, pointer, message and fix from closed sets, and nothing else.",
    ),
    Promise(
        "blocked.order",
        "EXEC, `blocked.blockers[]` schema (normative)",
        "Blockers come in the order of code, pointer kind and pointer, at most ten.",
    ),
    Promise(
        "blocked.bounds",
        "EXEC, `blocked.blockers[]` schema (normative)",
        "No blocker is longer than 512 bytes of message and 1024 bytes of fix, whatever was sent.",
    ),
    Promise(
        "continue.recorded",
        "EXEC, Durable accounting for outcomes (normative, drift-prevention)",
        "Each attempt and its outcome is one record at its node, blocked or advanced.",
    ),
    Promise(
        "continue.once",
        "EXEC, Durable accounting for outcomes (normative, drift-prevention)",
        "Many callers with one ack make one record, and all get the same reply.",
    ),
    Promise(
        "modes.never-refused",
        "EXEC, Mode safety, warnings, and recommendations (normative)",
        "A mode above the recommendation is accepted with a warning that names the safe one.",
    ),
    Promise(
        "resume.new-chat",
        "EXEC, Brand new chat resumption (normative)",
        "A chat that knows nothing finds the tip and goes on with the call it is given.",
    ),
    Promise(
        "outputs.shape",
        "EXEC, Minimal `output` shape (recommended)",
        "Output is notes and artifacts, each optional.",
    ),
    Promise(
        "workflows.reserved",
        "EXEC, Workflow identity and namespaces (normative)",
        "A project cannot define or shadow wr.* workflows.",
    ),
    Promise(
        "workflows.id-format",
        "EXEC, Workflow identity and namespaces (normative)",
        "An id is two lower-case words with one dot; a new one of another form is refused.",
    ),
    Promise(
        "workflows.legacy-runs",
        "EXEC, Workflow identity and namespaces (normative)",
        "A workflow with an old id runs, with a warning that suggests its new id.",
    ),
    Promise(
        "workflows.list-order",
        "EXEC, Workflow identity and namespaces (normative)",
        "The list gives kind and id status and is sorted by namespace, kind and name.",
    ),
    Promise(
        "start.pins-the-workflow",
        "EXEC, Pinning policy (normative)",
        "A run keeps its workflow when the file changes.",
    ),
    Promise(
        "start.hash-covers",
        "EXEC, Pinning policy (normative)",
        "The hash changes with the steps, the templates, the features and the contracts.",
    ),
    Promise(
        "agent.no-state",
        "EXEC, What the Agent Must and Must Not Do",
        "No call takes progress of a run as an argument.",
    ),
    Promise(
        "replies.fields",
        "EXEC, `start_workflow` response (example)",
        "A reply has the field names of the contract.",
    ),
    Promise(
        "start.joins-a-session",
        "EXEC, Dashboard / Sessions (UX Projection)",
        "A run can join a session by its id or by any of its tokens.",
    ),
    Promise(
        "sessions.many-runs",
        "EXEC, Dashboard / Sessions (UX Projection)",
        "One session holds several runs, each with its own branches.",
    ),
    Promise(
        "lineage.edges",
        "EXEC, Persistence model (recommended)",
        "Advancing, saving and blocking each leave a node and an edge of their own kind.",
    ),
    Promise(
        "signals.on-nodes",
        "EXEC, Preferences, capabilities, and divergence (recommended)",
        "Preferences, capabilities and divergence are recorded at the node where they occurred.",
    ),
    Promise(
        "observations.recorded",
        "EXEC, Environment observations (recommended)",
        "The branch and the goal of a start are in the log and help to find the session.",
    ),
    Promise(
        "sessions.boundaries",
        "EXEC, UI guidance (avoid “confusing soup”)",
        "A session shows each of its runs apart, with its workflow, status and graph.",
    ),
    Promise(
        "notes.without-contract",
        "EXEC, Defaults for legacy workflows (no output contract)",
        "A step without a contract takes notes alone and nothing is guessed from them.",
    ),
    Promise(
        "contracts.declared",
        "EXEC, How contracts are declared",
        "A step refers to a contract, a template implies one, and hints bind nobody.",
    ),
    Promise(
        "blocked.retry",
        "EXEC, Enforcement on `continue_workflow`",
        "A blocked step needs one corrected call, not more.",
    ),
    Promise(
        "contracts.pinned", "EXEC, Contract pack versioning", "A run keeps the contract it was started with."
    ),
    Promise(
        "prompts.blocks",
        "EXEC, PromptBlocks & rendered prompts (normative)",
        "Prompt blocks become one text in a fixed order; a plain prompt stays as it is.",
    ),
    Promise(
        "prompts.role",
        "EXEC, AgentRole (normative clarification)",
        "The role of a workflow stands in each prompt, and a step's own role instead of it.",
    ),
    Promise(
        "divergence.told",
        "EXEC, Divergence markers (normative)",
        "Leaving the instructions on purpose is recorded, shown.",
    ),
    Promise(
        "bundle.round-trip",
        "EXEC, Export/import bundles (resumable) (normative)",
        "An imported session tells the same story as its source.",
    ),
    Promise(
        "bundle.resumable",
        "EXEC, Export/import bundles (resumable) (normative)",
        "An imported session is found and finished with tokens of its new home.",
    ),
    Promise(
        "bundle.import-as-new",
        "EXEC, Integrity and conflicts (recommended behavior)",
        "Where the id is taken, or on request, a bundle becomes a new session; nothing is merged.",
    ),
    Promise(
        "bundle.tokens-stay",
        "EXEC, Export/import bundles (resumable) (normative)",
        "Tokens are not in a bundle, and those of the source do not act on a copy.",
    ),
    Promise(
        "bundle.versioned",
        "EXEC, Bundle format (recommended)",
        "A bundle tells its version, is the same bytes every time, and a later version is refused.",
    ),
    Promise(
        "bundle.contents",
        "EXEC, Required bundle contents (normative)",
        "A bundle holds events, snapshots, outputs and pinned workflows: all that going on needs.",
    ),
)
