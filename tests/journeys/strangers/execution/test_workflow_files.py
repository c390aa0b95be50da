"""Workflow files: ids, order, pinning, hashes, and what a file may say."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from tests.filled_in import in_own_words
from tests.journeys.strangers.execution.flows_b import (
    Document,
    ack,
    codes,
    document,
    errors,
    problems,
    reread,
    start,
    steps,
    stored,
    three,
)
from tests.journeys.strangers.product import Product


def hash_of(product: Product, workflow: Document) -> str:
    found = product.data("workflow", "inspect", product.workflow(workflow))
    return str((found.get("workflow") or found)["workflowHash"])


def canonical(value: Any) -> str:
    """RFC 8785 for texts, whole numbers, booleans and null."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{canonical(name)}:{canonical(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


@pytest.mark.promise("workflows.reserved")
def test_a_file_that_shadows_a_bundled_workflow_is_refused_and_the_bundled_one_runs(product: Product) -> None:
    folder = product.project / ".handrail" / "workflows"
    folder.mkdir(parents=True)
    for name, used in (("a", "wr.small_change"), ("b", "wr.brand_new")):
        (folder / f"{name}.json").write_text(
            json.dumps(document(used, [{"id": "x", "title": "X", "prompt": "EVIL"}])), encoding="utf-8"
        )
    with product.serve() as server:
        bundled = start(server, "wr.small_change")
        refused = server.call("start_workflow", workflowId="wr.brand_new")
        listed = server.call("list_workflows", query="small_change").structured["items"]

    checked = product.run("workflow", "validate", str(folder / "a.json"))
    assert "EVIL" not in bundled.text
    assert bundled.structured["pending"]["stepId"] == "plan"
    assert refused.is_error
    assert refused.structured["code"] == "WORKFLOW_ID_RESERVED"
    assert [item["sourceKind"] for item in listed if not item.get("problems")] == ["bundled"]
    assert checked.status != 0
    assert "reserved" in checked.out


@pytest.mark.promise("workflows.id-format")
@pytest.mark.parametrize(
    "name", ["Project.x", "a.b.c", "a..b", "1a.b", "a.", "plain", "a.b\n", "a.1b", "a.b "]
)
def test_a_new_workflow_of_another_form_is_refused_and_no_file_is_made(product: Product, name: str) -> None:
    refused = product.error("workflow", "new", name, "--dry-run")

    assert refused["code"] == "E_VALIDATION"
    assert "namespace" in json.dumps(refused) or "printable" in json.dumps(refused)
    assert not (product.project / ".handrail").exists()


@pytest.mark.promise("workflows.legacy-runs")
def test_a_legacy_workflow_runs_to_its_end_and_is_told_an_id_that_a_project_may_use(product: Product) -> None:
    workflow = product.workflow(document("bug-investigation", steps(1)))
    with product.serve() as server:
        begun = start(server, workflow)
        ended = ack(server, begun, "n")
        inspected = server.call("inspect_workflow", workflowId=workflow)

    warning = next(w for w in begun.structured["warnings"] if w["code"] == "WORKFLOW_ID_LEGACY")
    assert ended.structured["isComplete"] is True
    assert inspected.structured["workflow"]["idStatus"] == "legacy"
    assert warning["details"]["suggestion"] == "project.bug_investigation"


@pytest.mark.promise("workflows.legacy-runs")
def test_two_legacy_ids_are_not_told_to_take_the_same_new_id(product: Product) -> None:
    product.workflow(document("bug-hunt", steps(1)))
    product.workflow(document("bug_hunt", steps(1)))
    with product.serve() as server:
        listed = server.call("list_workflows", query="hunt").structured["items"]

    suggested = [item["suggestedId"] for item in listed]
    assert len(suggested) == 2
    assert len(set(suggested)) == 2, suggested


@pytest.mark.promise("workflows.list-order")
def test_the_list_is_sorted_by_namespace_then_workflows_first_then_name_over_all_pages(
    product: Product,
) -> None:
    for name, kind in (
        ("aa.z", "workflow"),
        ("aa.a", "routine"),
        ("aa-b.a", "workflow"),
        ("zz.b", "routine"),
        ("zz.c", "workflow"),
        ("old", "workflow"),
    ):
        product.workflow(document(name, steps(1), kind=kind))
    found: list[Document] = []
    cursor: Document = {}
    with product.serve() as server:
        while True:
            page = server.call("list_workflows", **cursor).structured
            found += page["items"]
            if not page["has_more"]:
                break
            cursor = {"cursor": page["next_cursor"]}

    def key(item: Document) -> tuple[str, bool, str]:
        space, _, name = item["id"].rpartition(".")
        return (space, item["kind"] == "routine", name)

    assert [item["id"] for item in found] == [item["id"] for item in sorted(found, key=key)]
    assert len({item["id"] for item in found}) == len(found) >= 25
    assert {item["idStatus"] for item in found if item["id"] == "old"} == {"legacy"}
    assert {item["idStatus"] for item in found if item["id"] != "old"} == {"namespaced"}


@pytest.mark.promise("workflows.routines")
def test_a_routine_is_listed_beside_workflows_marked_and_can_be_started_itself(product: Product) -> None:
    own = product.workflow(document("team.check", steps(1), kind="routine"))
    with product.serve() as server:
        listed = server.call("list_workflows", query="check")
        begun = start(server, own)

    item = next(item for item in listed.structured["items"] if item["id"] == own)
    assert item["kind"] == "routine"
    assert any(own in line and "routine" in line for line in listed.text.splitlines())
    assert begun.structured["pending"]["stepId"] == "s1"


@pytest.mark.promise("start.pins-the-workflow")
def test_a_run_whose_file_is_edited_and_then_deleted_goes_on_with_its_own_steps_in_a_new_server(
    product: Product,
) -> None:
    workflow = three(product)
    path = product.project / ".handrail" / "workflows" / "project.three.json"
    with product.serve() as server:
        begun = start(server, workflow)
    path.write_text(
        json.dumps(document(workflow, [{"id": "new", "title": "New", "prompt": "New text."}])),
        encoding="utf-8",
    )
    with product.serve() as server:
        second = ack(server, begun, "one")
        told = codes(second) + codes(reread(server, second))
        path.unlink()
        third = ack(server, second, "two")
        ended = ack(server, third, "three")

    assert [second.structured["pending"]["stepId"], third.structured["pending"]["stepId"]] == ["s2", "s3"]
    assert ended.structured["isComplete"] is True
    assert any("DRIFT" in code or "CHANGED" in code or "DIFFERS" in code for code in told), told


@pytest.mark.promise("start.hash-covers")
def test_the_hash_changes_with_each_part_that_changes_what_an_agent_gets_and_with_nothing_else(
    product: Product,
) -> None:
    plain = document("project.h", steps(2))
    probe = {"type": "template_call", "templateId": "wr.templates.capability_probe"}
    changed = [
        plain,
        document("project.h", [steps(2)[0] | {"prompt": "Do part 1!"}, steps(2)[1]]),
        document("project.h", steps(2)[::-1]),
        document("project.h", [*steps(2), probe | {"args": {"capability": "delegation"}}]),
        document("project.h", [*steps(2), probe | {"args": {"capability": "web_browsing"}}]),
        plain | {"features": ["wr.features.mode_guidance"]},
        plain | {"features": [{"id": "wr.features.mode_guidance", "config": {"steps": "each_step"}}]},
        document("project.h", [steps(1)[0] | {"output": {"contractRef": "wr.contracts.plan"}}, steps(2)[1]]),
        document("project.h", [steps(1)[0] | {"output": {"contractRef": "wr.contracts.gap"}}, steps(2)[1]]),
        plain | {"capabilities": {"delegation": "preferred"}},
        plain | {"agentRole": "A stance."},
    ]

    hashes = [hash_of(product, workflow) for workflow in changed]
    reordered = dict(reversed(list(plain.items())))

    assert len(set(hashes)) == len(changed)
    assert hash_of(product, reordered) == hashes[0]


@pytest.mark.promise("canonical.one-form")
def test_the_pinned_bytes_are_rfc_8785_with_names_in_utf_16_order_and_hash_to_the_workflow_hash(
    product: Product,
) -> None:
    odd = {"\ue000": 1, "😀": 2, "é": [True, None, '\u2028"\\\t\u0007'], "a": {"z": 1, "B": 2}}
    options = [{"id": "a", "label": "A", "set": {"v": odd}}, {"id": "b", "label": "B"}]
    part = {"type": "choice", "id": "c", "title": "C", "prompt": "Choose.", "options": options}
    workflow = product.workflow(document("project.c", [part], inputs={"v": {"type": "object"}}))
    with product.serve() as server:
        begun = start(server, workflow)

    digest = begun.structured["workflow"]["workflowHash"].removeprefix("sha256:")
    blob = product.home / "data" / "blobs" / digest[:2] / digest
    content = blob.read_bytes()
    assert hashlib.sha256(content).hexdigest() == digest
    parsed = json.loads(content)
    assert "\ue000" in json.dumps(parsed, ensure_ascii=False)
    assert canonical(parsed).encode() == content


@pytest.mark.promise("builtins.catalog")
def test_every_builtin_of_the_catalog_compiles_as_its_example_and_a_name_outside_it_does_not(
    product: Product,
) -> None:
    items = product.data("workflow", "builtins", "--limit", "200", "--mvi", "full")["items"]
    refs = [
        {"id": f"r{n}", "title": "R", "promptBlocks": {"goal": ["Goal.", item["example"]]}}
        for n, item in enumerate(items)
        if item["kind"] == "ref"
    ]
    calls = [item["example"] | {"id": f"t{n}"} for n, item in enumerate(items) if item["kind"] == "template"]
    asked = [
        {"id": f"c{n}", "title": "C", "prompt": "P.", "output": {"contractRef": item["id"]}}
        for n, item in enumerate(items)
        if item["kind"] == "contract" and item["id"].split(".")[-1] not in ("loop_control", "assessment")
    ]
    able: Document = {}
    for item in items:
        if item["kind"] == "capability":
            able |= item["example"]
    names = {
        name: {"type": "string", "default": "x"} for name in ("subject", "hypothesis", "request", "work")
    }
    whole = document(
        "project.all",
        [*refs, *calls, *asked],
        features=[item["example"] for item in items if item["kind"] == "feature"],
        capabilities=able,
        inputs=names,
    )

    found = errors(product, whole)

    assert found == []
    assert {item["kind"] for item in items} == {"ref", "template", "contract", "feature", "capability"}
    wrong = document(
        "project.no",
        [{"id": "a", "title": "A", "promptBlocks": {"goal": {"kind": "ref", "refId": "wr.refs.no"}}}],
    )
    assert [problem["code"] for problem in errors(product, wrong)] == ["unknown_id"]


@pytest.mark.promise("loops.bounded")
@pytest.mark.parametrize(
    "loop",
    [
        {"while": {"kind": "always_true"}, "body": steps(1)},
        {"while": {"kind": "always_true"}, "maxIterations": 0, "body": steps(1)},
        {"while": {"kind": "always_true"}, "maxIterations": 100000, "body": steps(1)},
        {"while": {"kind": "always_true"}, "maxIterations": "3", "body": steps(1)},
        {"while": {"kind": "always_true"}, "maxIterations": 3, "body": []},
        {"while": {"kind": "always_true"}, "maxIterations": 3},
        {"while": "x > 3", "maxIterations": 3, "body": steps(1)},
        {"while": {"kind": "expression", "value": "x > 3"}, "maxIterations": 3, "body": steps(1)},
        {"maxIterations": 3, "body": steps(1)},
    ],
)
def test_a_loop_without_limit_or_body_or_with_an_expression_is_an_error(
    product: Product, loop: Document
) -> None:
    found = errors(product, document("project.l", [{"type": "loop", "loopId": "l", **loop}]))

    assert found
    assert all(problem["pointer"].startswith("/steps/0") for problem in found)
    assert not any(problem["fix"] == "Write x_3." for problem in found), "a fix that names another condition"


@pytest.mark.promise("authoring.json-only")
@pytest.mark.parametrize(
    ("name", "text", "word"),
    [
        ("a.yaml", "id: project.a\nname: A\nsteps:\n  - id: s\n", "YAML"),
        ("a.json", "id: project.a\nname: A\n", "YAML"),
        ("a.json", '{\n  "id": "project.a",\n  // why\n  "name": "A"\n}', "comment"),
        ("a.json", '{\n  "id": "project.a",\n  "name": "A",\n}', "comma"),
        ("a.json", "{\n  'id': 'project.a'\n}", "quote"),
        ("a.json", '{\n  "id": None\n}', "null"),
    ],
)
def test_another_format_is_refused_by_its_name_with_line_and_column(
    product: Product, name: str, text: str, word: str
) -> None:
    path = product.project / name
    path.write_text(text, encoding="utf-8")

    ran = product.run("workflow", "validate", str(path))
    problem = ran.document["error"]["details"]["report"]["items"][0]["problems"][0]

    assert ran.status != 0
    assert word in problem["message"] + problem["fix"]
    assert problem["line"] >= 1
    assert problem["column"] >= 1
    assert product.run("workflow", "list", "--query", "project").document["data"]["items"] == []


@pytest.mark.promise("capabilities.top-level")
def test_a_capability_among_the_features_is_refused_and_the_fix_names_the_top_level(product: Product) -> None:
    among = errors(product, document("project.a", steps(1), features=["web_browsing"]))
    inside = {"id": "wr.features.capabilities", "config": {"web_browsing": "required"}}
    configured = errors(product, document("project.a", steps(1), features=[inside]))
    right = errors(product, document("project.a", steps(1), capabilities={"web_browsing": "required"}))

    assert [problem["pointer"] for problem in among] == ["/features/0"]
    assert [problem["pointer"] for problem in configured] == ["/features/0/config/web_browsing"]
    assert right == []
    assert "at the top" in among[0]["fix"] or '"capabilities"' in among[0]["fix"], among[0]["fix"]


@pytest.mark.promise("templates.own-type")
def test_a_template_inside_a_plain_step_is_refused_without_advice_to_drop_it(product: Product) -> None:
    magic = {"id": "a", "title": "A", "prompt": "P.", "templateId": "wr.templates.verification_pass"}
    own = {"type": "template_call", "templateId": "wr.templates.verification_pass"}
    mixed = own | {"prompt": "P."}

    found = errors(product, document("project.a", [magic]))

    assert [problem["pointer"] for problem in found] == ["/steps/0/templateId"]
    assert errors(product, document("project.a", [own])) == []
    assert [p["pointer"] for p in errors(product, document("project.a", [mixed]))] == ["/steps/0/prompt"]
    assert "template_call" in found[0]["fix"], found[0]["fix"]


@pytest.mark.promise("features.typed")
def test_a_feature_takes_only_its_own_settings_with_their_own_types(product: Product) -> None:
    def said(identifier: str, config: Document) -> list[str]:
        feature = {"id": f"wr.features.{identifier}", "config": config}
        return [
            problem["pointer"]
            for problem in errors(product, document("project.f", steps(1), features=[feature]))
        ]

    assert said("subagent_guidance", {"maxParallel": 4, "steps": "each_step"}) == []
    assert said("subagent_guidance", {"maxParallel": "4"}) == ["/features/0/config/maxParallel"]
    assert said("subagent_guidance", {"maxParallel": True}) == ["/features/0/config/maxParallel"]
    assert said("subagent_guidance", {"maxparallel": 4}) == ["/features/0/config/maxparallel"]
    assert said("durable_recap_guidance", {"maxLines": 15}) == ["/features/0/config/maxLines"]
    assert said("output_contracts", {"steps": "each_step"}) == ["/features/0/config/steps"]


@pytest.mark.promise("contracts.by-reference")
def test_an_inline_schema_an_unknown_contract_and_a_misspelt_one_are_refused_with_what_exists(
    product: Product,
) -> None:
    def found(output: Document) -> list[Document]:
        return errors(product, document("project.a", [steps(1)[0] | {"output": output}]))

    inline = found({"schema": {"type": "object"}})
    unknown = found({"contractRef": "wr.contracts.plans"})
    bare = found({"contractRef": "plan"})

    assert "/steps/0/output/schema" in [problem["pointer"] for problem in inline]
    assert unknown[0]["code"] == "unknown_id"
    assert "wr.contracts.plan" in unknown[0]["fix"]
    assert bare
    assert "wr.contracts.plan" in json.dumps(bare)
    product.workflow(document("project.a", [steps(1)[0] | {"output": {"contractRef": "wr.contracts.plans"}}]))
    with product.serve() as server:
        refused = server.call("start_workflow", workflowId="project.a")
    assert refused.is_error
    assert refused.structured["code"] == "WORKFLOW_INVALID"
    assert not (product.home / "data" / "sessions").exists() or not list(
        (product.home / "data" / "sessions").iterdir()
    )


@pytest.mark.promise("contracts.packs")
def test_the_three_packs_exist_and_their_example_is_accepted_by_the_step_that_asks_for_it(
    product: Product,
) -> None:
    items = product.data("workflow", "builtins", "--kind", "contract", "--mvi", "full")["items"]
    packs = {item["id"].split(".")[-1]: item for item in items}
    loop = {"type": "loop", "loopId": "l", "while": {"kind": "loop_control"}, "maxIterations": 3}
    asks = [
        steps(1)[0] | {"id": f"{name}", "output": {"contractRef": packs[name]["id"]}}
        for name in ("capability_observation", "workflow_divergence")
    ]
    turn = [steps(1)[0] | {"id": "turn", "output": {"contractRef": packs["loop_control"]["id"]}}]
    workflow = product.workflow(document("project.p", [*asks, loop | {"body": turn}, *steps(1)]))
    with product.serve() as server:
        reply = start(server, workflow)
        for name in ("capability_observation", "workflow_divergence", "loop_control"):
            reply = ack(server, reply, "n", in_own_words(packs[name]["example"]))
            assert reply.structured["kind"] == "ok", (name, reply.text)

    assert reply.structured["pending"]["stepId"] == "s1"


@pytest.mark.promise("start.pins-the-workflow")
def test_a_reformatted_file_is_no_drift_and_the_session_keeps_its_bytes(product: Product) -> None:
    workflow = three(product)
    path = product.project / ".handrail" / "workflows" / "project.three.json"
    with product.serve() as server:
        begun = start(server, workflow)
        before = stored(product, begun.structured["session"]["sessionId"])
        path.write_text(
            json.dumps(json.loads(path.read_text(encoding="utf-8")), indent=7, sort_keys=True),
            encoding="utf-8",
        )

        again = reread(server, begun)

    assert codes(again) == []
    assert stored(product, begun.structured["session"]["sessionId"]) == before
    assert problems(product, json.loads(path.read_text(encoding="utf-8"))) == []
