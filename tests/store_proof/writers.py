"""Writers in processes of their own, as `store selftest` starts them."""

from __future__ import annotations

import os

from handrail.event_log.files.selftest_writers import WriterOrder, run_order
from handrail.host.programs import make_child_environment, own_command
from handrail.ports.store import ProofPart

COMMAND = own_command("handrail.event_log.files.selftest_writers")


def run_writers(order: WriterOrder) -> ProofPart:
    return run_order(order, COMMAND, make_child_environment(os.environ))
