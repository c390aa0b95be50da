"""Each adapter that `wiring` loads by its name has the form of its port: the type checker compares them."""

from __future__ import annotations

from pathlib import Path

from handrail.event_log.files.log import FileLog
from handrail.event_log.files.upkeep.keeper import FileKeeper
from handrail.host.authored_files import ProjectFiles
from handrail.host.checks import LocalCheckPrograms, LocalKnownChecks, LocalReceiptKeys
from handrail.host.http_client import LocalHttpClient
from handrail.host.process import ConfirmedTokenFiles, IncidentFiles, McpProcessFiles
from handrail.host.program.client_files import LocalClientFiles
from handrail.host.program.installation import LocalInstallation
from handrail.host.program.provenance import LocalProvenance
from handrail.host.program.updates import LocalUpdates
from handrail.host.terminal import LocalTerminal
from handrail.host.trial_results import TrialResultFiles
from handrail.host.workflow_library import DirectoryLibrary
from handrail.ports import checks, log, process, program, server, store, trees, trials, workspace, worktree
from handrail.trials.local_trials import LocalTrials
from handrail.trials.room import LocalRoom
from handrail.wiring import build_runtime
from handrail.worktree.fact_store import FactFiles
from handrail.worktree.git_trees import GitTrees
from handrail.worktree.local_worktree import LocalWorktree

LOG: type[log.EventLog] = FileLog
KEEPER: type[store.StoreKeeper] = FileKeeper
LIBRARY: type[workspace.WorkflowLibrary] = DirectoryLibrary
AUTHORED: type[workspace.AuthoredFiles] = ProjectFiles
WORKTREE: type[worktree.Worktree] = LocalWorktree
TREES: type[trees.Trees] = GitTrees
TRIALS: type[trials.Trials] = LocalTrials
ROOM: type[trials.TrialRoom] = LocalRoom
FACTS: type[worktree.FactStore] = FactFiles
TRIAL_RESULTS: type[trials.TrialResults] = TrialResultFiles
INCIDENTS: type[process.Incidents] = IncidentFiles
CONFIRMED: type[process.ConfirmedTokens] = ConfirmedTokenFiles
PROCESSES: type[process.McpProcesses] = McpProcessFiles
TERMINAL: type[process.Terminal] = LocalTerminal
CHECKS: type[checks.CheckPrograms] = LocalCheckPrograms
KNOWN: type[checks.KnownChecks] = LocalKnownChecks
KEYS: type[checks.ReceiptKeys] = LocalReceiptKeys
INSTALLATION: type[program.Installation] = LocalInstallation
CLIENTS: type[program.ClientFiles] = LocalClientFiles
UPDATES: type[program.Updates] = LocalUpdates
PROVENANCE: type[program.Provenance] = LocalProvenance
CLIENT: type[server.HttpClient] = LocalHttpClient
UNSEEN: type[worktree.Worktree] = worktree.UnseenWorktree
UNSEEN_TREES: type[trees.Trees] = trees.UnseenTrees
NOTHING_KEPT: type[worktree.FactStore] = worktree.NothingKept
NOTHING_KNOWN: type[checks.KnownChecks] = checks.NoChecksKnown


def test_every_adapter_that_is_loaded_by_its_name_can_be_made(tmp_path: Path) -> None:
    rt = build_runtime({}, home=str(tmp_path))
    makers = (
        *(rt.keeper, rt.updates, rt.provenance, rt.clients, rt.installation, rt.check_programs),
        *(rt.known_checks, rt.receipt_keys, rt.terminal, rt.http_client),
    )

    assert all(make() is not None for make in makers)
    assert rt.mcp_processes().running() == ()
    assert rt.log.list_sessions() == ()
    assert rt.library.files(str(tmp_path))
    assert rt.incidents.record("a defect")
    assert not rt.confirmed.is_used("0" * 32)
