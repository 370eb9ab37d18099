"""The driver of the real client: an empty home, its own environment, a simulated API beside it.

How the client starts a workflow (2.1.332): the Workflow tool's input is ``{"script": JS}``, plain
JavaScript that must begin with a pure literal ``export const meta = {name, description, phases}``,
followed by the body: ``agent(prompt, {label, phase})`` returns the report or null,
``parallel([() => …])`` awaits all, ``return`` gives the result. The tool returns at once; the
result arrives as a ``<task-notification>`` prompt, which ``-p`` waits for. How many agents run at
once follows the CPUs (min(16, CPUs - 2)); ``CLAUDE_CODE_WORKFLOW_MAX_CONCURRENT_AGENTS`` lifts
it, so 40 agents run at width 15 on two cores. Agent calls run in the background unless
``run_in_background`` is false; then a message's calls run at once and are awaited.
"""

from __future__ import annotations

from paceline_bench.client.find import VERSIONS, ClientMissing, find_client
from paceline_bench.client.result import Counts, RunResult
from paceline_bench.client.run import Progress, fanout, run_fanout, run_together
from paceline_bench.client.spec import SEED_API, Fanout
from paceline_bench.client.tell import telling

__all__ = [
    "SEED_API",
    "VERSIONS",
    "ClientMissing",
    "Counts",
    "Fanout",
    "Progress",
    "RunResult",
    "fanout",
    "find_client",
    "run_fanout",
    "run_together",
    "telling",
]
