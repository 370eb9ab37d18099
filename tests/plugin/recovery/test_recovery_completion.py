"""The generated script: what is done stays done, only dead calls run."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.recovery import Call, complete
from paceline.recovery.completion import BARE, ITEMS, REPLAY, SCRIPT_MAX
from paceline.recovery.javascript import literal, split_meta

if TYPE_CHECKING:
    from pathlib import Path

HEAD = 'export const meta = {name: "survey", description: "a {brace} and a \\"quote\\""};'
BODY = """
phase("Read");
const prompts = ["Do 0.", "Do 1.", "Do 2.", "Do 3."];
const found = await parallel(prompts.map((p, i) => () => agent(p, {label: "item " + i})));
const sum = await agent("Sum up " + JSON.stringify(found), {label: "sum"});
return {found, sum, args};
"""
CALLS = [
    Call("Do 0.", label="item 0", run_again=False, result="zero"),
    Call("Do 1.", label="item 1", run_again=True),
    Call("Do 2.", label="item 2", run_again=False, result={"two": [2]}),
    Call("Do 3.", label="item 3", run_again=False, result=None),
]
HARNESS = """
const calls = [];
const agent = async (prompt, options) => {
  calls.push([prompt, options ?? null]);
  return "again: " + prompt;
};
const parallel = (thunks) => Promise.all(thunks.map((thunk) => thunk().catch(() => null)));
const phase = () => {};
const args = undefined;
const run = async () => {
%s
};
run().then((result) => console.log(JSON.stringify({result, calls})));
"""

node = pytest.mark.skipif(shutil.which("node") is None, reason="no node to run a script with")


def run(script: str, tmp_path: Path) -> dict[str, Any]:
    """Run a workflow's script the way the client does: its body in a function, agent() given."""
    file = tmp_path / "run.js"
    file.write_text(HARNESS % script.replace("export const meta", "const meta", 1), "utf-8")
    done = subprocess.run(
        ["node", str(file)], capture_output=True, encoding="utf-8", timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@node
def test_the_runs_own_script_runs_again_with_its_results_in_place(tmp_path: Path) -> None:
    """[P6] Also what came after the dead one, which had been built without it."""
    made = complete(CALLS, HEAD + BODY, {"k": 1})
    assert made is not None
    assert (made.kind, made.again, made.kept) == (REPLAY, 1, 3)
    told = run(made.script, tmp_path)
    assert told["result"]["found"] == ["zero", "again: Do 1.", {"two": [2]}, None]
    assert told["result"]["args"] == {"k": 1}
    assert [prompt for prompt, _ in told["calls"]] == [
        "Do 1.",
        'Sum up ["zero","again: Do 1.",{"two":[2]},null]',
    ]


@node
def test_two_calls_with_one_prompt_keep_their_own_results(tmp_path: Path) -> None:
    calls = [
        Call("Vote.", label="b", run_again=False, result="from b"),
        Call("Vote.", label="a", run_again=False, result="from a"),
        Call("Vote.", label="c", run_again=True),
    ]
    body = """
    return await parallel(["a", "b", "c"].map((l) => () => agent("Vote.", {label: l})));
    """
    made = complete(calls, HEAD + body)
    assert made is not None
    told = run(made.script, tmp_path)
    assert told["result"] == ["from a", "from b", "again: Vote."]


@node
def test_without_its_script_the_array_comes_back_in_order(tmp_path: Path) -> None:
    made = complete(CALLS)
    assert made is not None
    assert made.kind == ITEMS
    told = run(made.script, tmp_path)
    assert told["result"] == ["zero", "again: Do 1.", {"two": [2]}, None]
    assert told["calls"] == [["Do 1.", {"label": "item 1"}]]


@node
def test_results_that_do_not_fit_are_left_out_and_the_dead_still_run(tmp_path: Path) -> None:
    calls = [
        Call("Do 0.", run_again=False, result="x" * SCRIPT_MAX),
        Call("Do 1.", label="one", phase="Read", agent_type="Explore", run_again=True),
    ]
    made = complete(calls, HEAD + BODY)
    assert made is not None
    assert (made.kind, made.kept) == (BARE, 0)
    assert len(made.script.encode()) <= SCRIPT_MAX
    told = run(made.script, tmp_path)
    assert told["result"] == ["again: Do 1."]
    assert told["calls"] == [["Do 1.", {"label": "one", "phase": "Read", "agentType": "Explore"}]]


@pytest.mark.parametrize(
    "script",
    [
        "return 1;",
        "export const meta = {name: 'x'",
        "export const meta = load();\nreturn {a: 1};",
        HEAD + "return await workflow('other');",
        "",
    ],
)
def test_a_script_that_cannot_be_shadowed_falls_back_to_its_items(script: str) -> None:
    made = complete(CALLS, script)
    assert made is not None
    assert made.kind == ITEMS


def test_nothing_to_run_makes_no_script() -> None:
    assert complete([Call("x", run_again=False, result=1)], HEAD + BODY) is None
    assert complete([], HEAD + BODY) is None


@pytest.mark.parametrize(
    ("script", "meta"),
    [
        ("export const meta = {a: 1}\nreturn 1", "export const meta = {a: 1}"),
        ("// first\nexport const meta = {a: '}', b: \"{\"};x", None),
        ("export const meta = { /* } */ a: [1, {b: `}`}] // }\n};\nx", None),
        ("export const meta={a:'\\'}'};x", "export const meta={a:'\\'}'}"),
    ],
)
def test_the_head_of_a_script_is_found_behind_strings_and_comments(
    script: str, meta: str | None
) -> None:
    parted = split_meta(script)
    assert parted is not None
    head, rest = parted
    assert script.startswith(head)
    assert head.endswith("}")
    assert head + ";" + rest == script or head + rest == script
    assert meta is None or head == meta


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(max_size=12)
    | st.sampled_from(["__proto__", "</script>", "`${x}`", "\u2028", "\\", '"', "*/"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=6) | st.just("__proto__"), inner, max_size=3)
    ),
    max_leaves=8,
)


@node
def test_any_value_survives_as_a_literal(tmp_path: Path) -> None:
    """Results are agents' words: nothing in them can be read as code."""
    collected: list[Any] = []

    @settings(max_examples=150, database=None, deadline=None)
    @given(values)
    def collect(value: Any) -> None:
        assert literal(value).isascii()
        collected.append(value)

    collect()
    body = ",".join(f"JSON.stringify({literal(value)})" for value in collected)
    told = run(f"return [{body}];", tmp_path)
    assert [json.loads(text) for text in told["result"]] == collected


@given(st.text(max_size=60))
def test_no_script_raises(script: str) -> None:
    complete(CALLS, script)
    complete(CALLS, "export const meta = {" + script)
