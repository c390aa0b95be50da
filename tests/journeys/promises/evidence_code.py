"""What the rules promise of the files of a project: looking at them, keeping them, bringing them back."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES: tuple[Promise, ...] = (
    Promise(
        "evidence.code.looking-runs-nothing",
        "evidence, section 4",
        "No configuration of a repository starts a program when its files are looked at, and no byte of the "
        "repository changes.",
    ),
    Promise(
        "evidence.code.odd-trees",
        "evidence, section 7",
        "A project that cannot be seen is unknown with the reason, and no call fails because of it.",
    ),
    Promise(
        "evidence.code.tree-of-a-node",
        "evidence, section 4",
        "In a git repository each start, advance, checkpoint and receipt leaves the tree of its node, in a "
        "commit of its own after the reply; a setting of the user turns that off.",
    ),
    Promise(
        "evidence.code.only-tightened",
        "evidence, section 3",
        "A project may keep the contents of its files out of the store, and switches off no check with that; "
        "where a user turned off looking, each claim that could not be compared says so.",
    ),
    Promise(
        "evidence.code.after-the-reply",
        "evidence, section 4",
        "A running server looks at the files after its answer: no answer waits for a look, trouble with one "
        "changes no answer, and a server whose input closes first finishes what it has begun.",
    ),
    Promise(
        "evidence.late-baseline",
        "evidence, section 4",
        "A start whose files could not be looked at in time is made up for by the next tree: what changed "
        "since is held against reports, and what may have changed before is unknown.",
    ),
    Promise(
        "evidence.code.marked-files",
        "evidence, section 4",
        "A file that git was told to leave alone (`skip-worktree`, `assume-unchanged`) is looked at like any "
        "other; what a sparse checkout leaves out is unknown, and a check on other files is stale.",
    ),
    Promise(
        "evidence.code.by-products",
        "evidence, section 4",
        "Caches, bytecode and data of coverage that git does not track are in no tree: a check that writes "
        "them is proof, nobody has to list them, and who lists them is not refused.",
    ),
    Promise(
        "evidence.code.optional",
        "evidence, section 4",
        "A bundle without code imports and continues; its trees are unknown, and nothing is called damaged.",
    ),
    Promise(
        "evidence.code.there-and-back",
        "evidence, section 7",
        "Restored there and back, files are byte for byte the same: modes, links, removals, line ends, any "
        "name; ignored files and the repository stay as they are.",
    ),
    Promise(
        "evidence.code.killed-restore",
        "evidence, section 7",
        "Killed before any change of a restore, each file is old or new, and the next call finishes it.",
    ),
    Promise(
        "evidence.code.restore",
        "evidence, section 4",
        "`code restore` lists every file first, records the present ones, brings back those of the step, and "
        "says of each file that it leaves alone why; the same command undoes it.",
    ),
    Promise(
        "evidence.code.nothing-lost",
        "evidence, section 4",
        "A restore removes or writes over no file whose present content is kept nowhere: it stays, the "
        "preview and the answer name it with the reason, and what was written comes back byte for byte.",
    ),
    Promise(
        "evidence.code.diff",
        "evidence, section 4",
        "`code diff` shows two trees as a unified diff, within limits, and nothing in it steers a terminal.",
    ),
    Promise(
        "evidence.code.fork",
        "evidence, section 4",
        "A reply that forks says in one line how many files differ from what the step saw, and the command "
        "that brings them back; a replay says the same whatever the files are by then.",
    ),
    Promise(
        "evidence.code.reread",
        "evidence, section 4",
        "An older step, of the same or of another branch, says the same when it is read or continued again; "
        "the newest one does not, nor does one whose files cannot be seen in time.",
    ),
)
