"""What the rules promise of the files of a project: looking at them, keeping them, bringing them back."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    evidence, section 4
      evidence.code.looking-runs-nothing: No configuration of a repository starts a program when its files
          are looked at, and no byte of the repository changes.
      evidence.code.tree-of-a-node: In a git repository each start, advance, checkpoint and receipt leaves
          the tree of its node, in a commit of its own after the reply; a setting of the user turns that
          off.
      evidence.code.after-the-reply: A running server looks at the files after its answer: no answer waits
          for a look, trouble with one changes no answer, and a server whose input closes first finishes
          what it has begun.
      evidence.late-baseline: A start whose files could not be looked at in time is made up for by the next
          tree: what changed since is held against reports, and what may have changed before is unknown.
      evidence.code.marked-files: A file that git was told to leave alone (`skip-worktree`,
          `assume-unchanged`) is looked at like any other; what a sparse checkout leaves out is unknown, and
          a check on other files is stale.
      evidence.code.by-products: Caches, bytecode and data of coverage that git does not track are in no
          tree: a check that writes them is proof, nobody has to list them, and who lists them is not
          refused.
      evidence.code.optional: A bundle without code imports and continues; its trees are unknown, and
          nothing is called damaged.
      evidence.code.restore: `code restore` lists every file first, records the present ones, brings back
          those of the step, and says of each file that it leaves alone why; the same command undoes it.
      evidence.code.nothing-lost: A restore removes or writes over no file whose present content is kept
          nowhere: it stays, the preview and the answer name it with the reason, and what was written comes
          back byte for byte.
      evidence.code.diff: `code diff` shows two trees as a unified diff, within limits, and nothing in it
          steers a terminal.
      evidence.code.fork: A reply that forks says in one line how many files differ from what the step saw,
          and the command that brings them back; a replay says the same whatever the files are by then.
      evidence.code.reread: An older step, of the same or of another branch, says the same when it is read
          or continued again; the newest one does not, nor does one whose files cannot be seen in time.
    evidence, section 7
      evidence.code.odd-trees: A project that cannot be seen is unknown with the reason, and no call fails
          because of it.
      evidence.code.there-and-back: Restored there and back, files are byte for byte the same: modes, links,
          removals, line ends, any name; ignored files and the repository stay as they are.
      evidence.code.killed-restore: Killed before any change of a restore, each file is old or new, and the
          next call finishes it.
    evidence, section 3
      evidence.code.only-tightened: A project may keep the contents of its files out of the store; the list
          of its files is recorded all the same.
    """
)
