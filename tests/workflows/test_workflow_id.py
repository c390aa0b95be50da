"""What the id of a workflow says about it."""

from __future__ import annotations

import pytest

from handrail.workflows.limits import id_status


@pytest.mark.parametrize(("workflow_id", "status"), [("a.b", "namespaced"), ("plain", "legacy")])
def test_an_id_without_a_dot_is_legacy(workflow_id: str, status: str) -> None:
    assert id_status(workflow_id) == status
