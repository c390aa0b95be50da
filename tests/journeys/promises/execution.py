"""What EXEC, the workflow execution contract, promises. The place of a row is a heading of EXEC."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    EXEC, Error handling (normative)
      errors.as-data: Trouble is an answer with a code and a next step at every door; nothing is thrown at
          the caller.
      errors.retry: Whether and when to send a call again is a field with closed values.
    EXEC, Recorded decisions (from design discussions)
      replies.both-channels: Replies of start, continue and checkpoint are whole as text and whole as data.
      replies.no-template-version: No answer tells which version of the text rules made it.
    EXEC, Tool Set
      workflows.read-only: Listing and inspecting workflows change no byte of the store.
    EXEC, `inspect_workflow`
      workflows.inspected: A workflow can be looked at before it is started: what it needs and its steps.
    EXEC, `start_workflow`
      start.first-step: A start returns the first pending step and its tokens.
    EXEC, `continue_workflow`
      continue.advances: An ack moves the run to its next step, and to the end.
      continue.rehydrate.pure: A stateToken alone changes nothing and brings a recap.
    EXEC, `checkpoint_workflow` (optional / experimental)
      checkpoint.keeps-the-step: A checkpoint keeps notes; the pending step stays.
      checkpoint.no-fork: A checkpoint never turns a remembered ack into a fork.
      checkpoint.handle: Only a token that we minted makes a checkpoint; one slip is repaired and told, more
          are refused.
    EXEC, `resume_session` (optional / feature-flagged)
      resume.by-id: A session or run id leads back to the pending step.
      resume.latest: Without a query the latest sessions are offered.
    EXEC, Basic flow (single workflow)
      flow.basic: List, inspect, start, then continue until the run is complete and nothing is pending.
    EXEC, Full-auto execution (modes)
      gaps.never-stop: Never-stop goes on, warns in its reply and records a critical gap instead.
      modes.stop-on-user: Stop-on-user waits only for what the user alone can give, not for confirmations.
    EXEC, Multiple workflows (sequential, parallel, nested)
      runs.interleaved: Runs are advanced in any order, in one session or several, and never touch each
          other.
    EXEC, `stateToken` (opaque snapshot)
      tokens.opaque: Every token of a next call is ready to send; it spells its session's id, nothing else
          of the run.
      tokens.checked: A token that is made up, of another version or misspelt in two places is refused by
          its own code.
    EXEC, `workflowHash` (pinned workflow identity)
      start.hash: A run names the digest of the compiled workflow that is stored with it.
    EXEC, `ackToken` (opaque completion acknowledgement)
      continue.replay.same-bytes: A repeated ack gets the recorded reply, writes nothing.
      continue.replay.no-recompute: A replay decides nothing again: it answers though deciding would fail
          now.
      tokens.scope: Tokens of different replies are refused together.
      blocked.replay: A blocked reply is replayed byte for byte.
    EXEC, Branching and “attempt acks” (normative)
      continue.branches: N fresh attempts at one node give N branches.
    EXEC, `checkpointToken` (opaque checkpoint acknowledgement)
      checkpoint.replay: A repeated checkpoint adds no node, edge or output and gets the same answer.
      checkpoint.scope: A checkpoint token works at its own node of its own run only.
    EXEC, `context` (external inputs)
      context.limits: Reserved keys and too much context are refused; nothing is stored.
      context.external: Context decides the way, is never echoed, and holds no progress of the run.
    EXEC, Preferences (closed set)
      preferences.closed-set: Preferences are two names with closed values; anything else is refused.
    EXEC, Scopes and precedence
      preferences.own: What one start asked for holds for that run and changes no other.
    EXEC, Node-attached effective preferences
      preferences.node: The mode holds along the run and is told in replies.
      preferences.replayed: Going back to an older node brings back the preferences of that node.
    EXEC, Capabilities (closed set)
      capabilities.closed-set: Capabilities are delegation and web_browsing; a workflow cannot name another.
    EXEC, Desired vs observed
      capabilities.hashed: What a workflow requires is part of its hash.
      capabilities.recorded: What was observed is in the log and comes back in a process that saw nothing of
          it.
    EXEC, Probing and degradation
      capabilities.required: A required capability is probed before work.
      capabilities.preferred: A missing preferred one is a warning only.
    EXEC, Recording capability observations (recommended)
      capabilities.tried: A status that was only claimed opens no step that requires the capability.
    EXEC, Web browsing required: injected early probe
      capabilities.never-stop: Never-stop goes on without a required capability and records a critical gap.
    EXEC, Durable outputs (`output` envelope)
      outputs.one-path: What was sent as output is there after a loss; what was sent as context is not
          retold.
    EXEC, Resumption vs rewind behavior (normative)
      continue.fork: Advancing an older node forks by itself and tells what was there.
      recap.tip: At a tip the way so far comes back, with nothing about branches.
    EXEC, Recap budgets and truncation (normative)
      recap.budget: A long recap keeps the newest entries and says in text and data how many it left out.
    EXEC, User-only dependencies (normative)
      user-only.answer: What only the user can give waits for the user's answer.
      user-only.reasons: Each of the six reasons blocks, and is a critical gap with the same name in
          never-stop.
    EXEC, Blocked vs gaps (mode-driven, drift prevention) (recommended)
      blocked.or-gap: One report is a blocker in one mode and a gap in the other, for the same reason.
    EXEC, `blocked.blockers[]` schema (normative)
      blocked.invalid: What does not fit is named, with an example that does.
      blocked.shape: A blocker has code, pointer, message and fix from closed sets, and nothing else.
      blocked.order: Blockers come in the order of code, pointer kind and pointer, at most ten.
      blocked.bounds: No blocker is longer than 512 bytes of message and 1024 bytes of fix, whatever was
          sent.
    EXEC, Durable accounting for outcomes (normative, drift-prevention)
      continue.recorded: Each attempt and its outcome is one record at its node, blocked or advanced.
      continue.once: Many callers with one ack make one record, and all get the same reply.
    EXEC, Mode safety, warnings, and recommendations (normative)
      modes.never-refused: A mode above the recommendation is accepted with a warning that names the safe
          one.
    EXEC, Brand new chat resumption (normative)
      resume.new-chat: A chat that knows nothing finds the tip and goes on with the call it is given.
    EXEC, Minimal `output` shape (recommended)
      outputs.shape: Output is notes and artifacts, each optional.
    EXEC, Workflow identity and namespaces (normative)
      workflows.reserved: A project cannot define or shadow wr.* workflows.
      workflows.id-format: An id is two lower-case words with one dot; a new one of another form is refused.
      workflows.legacy-runs: A workflow with an old id runs, with a warning that suggests its new id.
      workflows.list-order: The list gives kind and id status and is sorted by namespace, kind and name.
    EXEC, Pinning policy (normative)
      start.pins-the-workflow: A run keeps its workflow when the file changes.
      start.hash-covers: The hash changes with the steps, the templates, the features and the contracts.
    EXEC, What the Agent Must and Must Not Do
      agent.no-state: No call takes progress of a run as an argument.
    EXEC, `start_workflow` response (example)
      replies.fields: A reply has the field names of the contract.
    EXEC, Dashboard / Sessions (UX Projection)
      start.joins-a-session: A run can join a session by its id or by any of its tokens.
      sessions.many-runs: One session holds several runs, each with its own branches.
    EXEC, Persistence model (recommended)
      lineage.edges: Advancing, saving and blocking each leave a node and an edge of their own kind.
    EXEC, Preferences, capabilities, and divergence (recommended)
      signals.on-nodes: Preferences, capabilities and divergence are recorded at the node where they
          occurred.
    EXEC, Environment observations (recommended)
      observations.recorded: The branch and the goal of a start are in the log and help to find the session.
    EXEC, UI guidance (avoid “confusing soup”)
      sessions.boundaries: A session shows each of its runs apart, with its workflow, status and graph.
    EXEC, Defaults for legacy workflows (no output contract)
      notes.without-contract: A step without a contract takes notes alone and nothing is guessed from them.
    EXEC, How contracts are declared
      contracts.declared: A step refers to a contract, a template implies one, and hints bind nobody.
    EXEC, Enforcement on `continue_workflow`
      blocked.retry: A blocked step needs one corrected call, not more.
    EXEC, Contract pack versioning
      contracts.pinned: A run keeps the contract it was started with.
    EXEC, PromptBlocks & rendered prompts (normative)
      prompts.blocks: Prompt blocks become one text in a fixed order; a plain prompt stays as it is.
    EXEC, AgentRole (normative clarification)
      prompts.role: The role of a workflow stands in each prompt, and a step's own role instead of it.
    EXEC, Divergence markers (normative)
      divergence.told: Leaving the instructions on purpose is recorded, shown.
    EXEC, Export/import bundles (resumable) (normative)
      bundle.round-trip: An imported session tells the same story as its source.
      bundle.resumable: An imported session is found and finished with tokens of its new home.
      bundle.tokens-stay: Tokens are not in a bundle, and those of the source do not act on a copy.
    EXEC, Integrity and conflicts (recommended behavior)
      bundle.import-as-new: Where the id is taken, or on request, a bundle becomes a new session; nothing is
          merged.
    EXEC, Bundle format (recommended)
      bundle.versioned: A bundle tells its version, is the same bytes every time, and a later version is
          refused.
    EXEC, Required bundle contents (normative)
      bundle.contents: A bundle holds events, snapshots, outputs and pinned workflows: all that going on
          needs.
    """
)
