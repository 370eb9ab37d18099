"""The desk: waiting calls of one process, one ledger transaction a tick.

However many calls wait, a tick is one transaction: what was asked and told since the last one, then
one look at every waiting ticket. A tick comes when something was asked or told, when the earliest
slot is due, and at least every second while anybody waits; with nobody waiting, reservations under
way are renewed every few seconds, and an idle desk does nothing.

The ledger fails open: where it cannot be used, everybody goes at once and ``fault`` tells why.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Any

from paceline.errors import PacelineError, StateError
from paceline.ledger import admit, settle
from paceline.ledger.verdicts import Drop, Grant, Policy, Verdict, Wait

if TYPE_CHECKING:
    from collections.abc import Callable

    from paceline.ledger.store import FileStore
    from paceline.ledger.values import Ledger

    Change = Callable[[Ledger, float], Any]

REPLAN_S = 1.0
RENEW_S = 5.0
LEASE_S = 30.0


class Desk:
    """Asks the ledger for many callers at once.

    Use as an async context manager: its loop lives inside.

    Args:
        store: the ledger's file.
        policy: of the ledger.

    Attributes:
        beat: called every few seconds while the desk is open.
        waits: by ticket, when a waiting call may go and why it waits.
        fault: why the ledger could not be used in the last tick, or "".
    """

    def __init__(self, store: FileStore, policy: Policy) -> None:
        self.store = store
        self.policy = policy
        self.fault = ""
        self.beat: Callable[[], None] | None = None
        self._changes: list[tuple[Change, asyncio.Future[Any]]] = []
        self._waiting: dict[str, asyncio.Future[Verdict]] = {}
        self._asked: dict[str, dict[str, Any]] = {}
        self.waits: dict[str, Wait] = {}
        self._under_way: set[str] = set()
        self._wake = asyncio.Event()
        self._due = float("inf")
        self._task: asyncio.Task[None] | None = None
        self.ticks = 0

    async def __aenter__(self) -> Desk:  # noqa: PYI034 - Self is not needed
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._task is not None
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        for future in self._waiting.values():
            future.cancel()
        tickets, reservations = list(self._waiting), list(self._under_way)
        if tickets or reservations:
            await asyncio.to_thread(self._leave, tickets, reservations)

    async def told(self, change: Change) -> Any:
        """Run ``change(ledger, now)`` in the next transaction and return what it returns.

        Raises:
            PacelineError: the ledger cannot be used, or the change cannot be.
        """
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._changes.append((change, future))
        self._wake.set()
        return await future

    async def ask(self, ticket: str, asked: dict[str, Any]) -> Grant | Drop | None:
        """Wait until the ledger lets a request go; None when the ledger cannot be used.

        A cancelled call takes its ticket back.
        """
        future: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        self._waiting[ticket], self._asked[ticket] = future, asked
        self._wake.set()
        try:
            verdict = await future
        except PacelineError:
            return None
        except asyncio.CancelledError:
            self._later(lambda ledger, now: admit.withdraw(ledger, ticket, now))
            raise
        finally:
            self._waiting.pop(ticket, None)
            self._asked.pop(ticket, None)
            self.waits.pop(ticket, None)
        assert not isinstance(verdict, Wait)
        return verdict

    def ended(self, reservation: str) -> None:
        """A request is no longer under way: its reservation is not renewed any more."""
        self._under_way.discard(reservation)

    def give_back(self, reservation: str) -> None:
        """A request that was granted never goes."""
        self.ended(reservation)
        self._later(lambda led, now: settle.release(led, reservation, now, self.policy))

    def _later(self, change: Change) -> None:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda f: f.cancelled() or f.exception())
        self._changes.append((change, future))
        self._wake.set()

    async def _run(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), self._pause())
            self._wake.clear()
            await asyncio.sleep(0)  # let calls that came together join this tick
            changes, self._changes = self._changes, []
            if changes or self._waiting or self._under_way:
                await self._tick(changes)
            if self.beat is not None:
                self.beat()

    def _pause(self) -> float:
        if self._waiting:
            return min(REPLAN_S, max(0.0, self._due - time.time()))
        return RENEW_S

    async def _tick(self, changes: list[tuple[Change, asyncio.Future[Any]]]) -> None:
        waiting, under_way = dict(self._asked), list(self._under_way)
        self.ticks += 1
        try:
            results, verdicts = await asyncio.to_thread(
                self._transact, [change for change, _ in changes], waiting, under_way
            )
        except PacelineError as err:
            await self._let_go(err, changes)
            return
        except Exception as err:  # noqa: BLE001 - a bug of ours must not hold anybody for ever
            what = f"the ledger cannot be used ({type(err).__name__})"
            await self._let_go(StateError(what, self.store.path), changes)
            return
        self.fault = ""
        for (_, future), result in zip(changes, results, strict=True):
            if not future.done():
                if isinstance(result, Exception):
                    future.set_exception(result)
                else:
                    future.set_result(result)
        self._due = float("inf")
        for ticket, verdict in verdicts.items():
            self._answer(ticket, verdict)

    def _answer(self, ticket: str, verdict: Verdict | PacelineError) -> None:
        if isinstance(verdict, Wait):
            self._due = min(self._due, verdict.at)
            if ticket in self._waiting:
                self.waits[ticket] = verdict
            return
        future = self._waiting.get(ticket)
        if isinstance(verdict, PacelineError):
            if future is not None and not future.done():
                future.set_exception(verdict)
            return
        if future is not None and not future.done():
            if isinstance(verdict, Grant):
                self._under_way.add(verdict.reservation)
            future.set_result(verdict)
        elif isinstance(verdict, Grant):  # its call was cancelled while the transaction ran
            self.give_back(verdict.reservation)

    def _transact(
        self, changes: list[Change], waiting: dict[str, dict[str, Any]], under_way: list[str]
    ) -> tuple[list[Any], dict[str, Verdict | PacelineError]]:
        def transaction(
            ledger: Ledger, now: float
        ) -> tuple[list[Any], dict[str, Verdict | PacelineError]]:
            results: list[Any] = []
            for change in changes:
                try:
                    results.append(change(ledger, now))
                except PacelineError as err:
                    results.append(err)
            settle.renew(ledger, under_way, now, LEASE_S)
            faults: dict[str, Verdict | PacelineError] = {}
            for ticket, asked in waiting.items():
                try:  # new, or forgotten while this machine slept
                    admit.enqueue(ledger, ticket=ticket, now=now, **{"lease": LEASE_S, **asked})
                except PacelineError as err:
                    faults[ticket] = err
            mine = waiting.keys() - faults.keys()
            return results, faults | admit.tick(ledger, mine, now, self.policy)

        return self.store.transact(transaction)

    def _leave(self, tickets: list[str], reservations: list[str]) -> None:
        def transaction(ledger: Ledger, now: float) -> None:
            for ticket in tickets:
                admit.withdraw(ledger, ticket, now)
            for reservation in reservations:
                settle.release(ledger, reservation, now, self.policy)

        with contextlib.suppress(PacelineError):
            self.store.transact(transaction, timeout=1.0)

    async def _let_go(
        self, err: PacelineError, changes: list[tuple[Change, asyncio.Future[Any]]]
    ) -> None:
        """Tell everybody that waits that there is nothing to wait for."""
        self.fault = str(err)
        for future in [*(future for _, future in changes), *self._waiting.values()]:
            if not future.done():
                future.set_exception(err)
        await asyncio.sleep(0)
