"""A fan-out on a virtual clock: the ledger's own core against the simulated API's own rules.

* ``scenario`` what is simulated, as one value; ``sizes`` distributions; ``work`` each agent's part
* ``timeline`` the virtual clock
* ``world``    agents, requests and the API; ``meters`` what is measured on the way
* ``alone``    the client without pacing; ``paced`` with Paceline
* ``play``     runs one of them; ``outcome`` what it came to; ``plot`` draws it
"""

from __future__ import annotations

from paceline_bench.simulate.outcome import Outcome
from paceline_bench.simulate.play import play_alone, play_paced
from paceline_bench.simulate.scenario import SEED_API, Scenario
from paceline_bench.simulate.sizes import Sizes, constant, parse

__all__ = [
    "SEED_API",
    "Outcome",
    "Scenario",
    "Sizes",
    "constant",
    "parse",
    "play_alone",
    "play_paced",
]
