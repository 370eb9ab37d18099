"""What the requests of one kind of agent share, and who warms it for the others.

An entry of the prompt cache becomes readable when the first response that writes it begins and
lives 5 minutes from its last use (the API's prompt caching page). So of several first requests
with the same cold prefix one leads, and the others wait for its reply to begin: they then pay
only their own part. A kind of agent that turns out to share nothing is not made to wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING  # noqa: TID253 - off the hook's fast path

from paceline.estimate import learn as estimates
from paceline.families import family_of, meant
from paceline.ledger.values import Prefix

if TYPE_CHECKING:
    from paceline.ledger.values import Amounts, Ledger, Reservation, Ticket

TTL_S = 300.0
"""Seconds an entry lives: 5 minutes on API keys and for every agent."""
CLEAN_S = 5.0
"""A context this close to its expiry is counted as expired: the request takes a while to arrive."""
LEADER_S = 12.0
"""Seconds followers wait for a leader's reply to begin at most."""
LEADER_POLL_S = 1.0
COLD_FIRST, WARM_FIRST = 9000.0, 2500.0
"""Before anything was settled: first requests of agents were 6.8k to 8.2k tokens by bytes/4, of
which 4.5k to 6k came from the cache for the siblings (measured on client 2.1.332)."""
OUTPUT_LEAST = 1.0
"""Output tokens of a reply of which nothing is known: it waits at least until none are owed."""
RATE = 0.5
"""Weight of the newest first request in what is learned."""
SHARED_LEAST = 500.0
"""A follower that read less than this from the cache shares nothing worth a wait."""
UNSHARED = 2
KEEP_S = 30 * 86400.0
KEEP = 200


def key_of(model: str, agent_type: str, project: str) -> str:
    """Return the key of a shared prefix: the cache key holds the model and the directory."""
    return f"{model}|{agent_type}|{project}"


def first_cost(ledger: Ledger, key: str, *, warm: bool) -> float:
    """Return what a first request of this kind will count, in tokens."""
    known = ledger.prefixes.get(key)
    if known is None:
        return WARM_FIRST if warm else COLD_FIRST
    if warm:
        return known.warm or min(WARM_FIRST, known.cold or WARM_FIRST)
    return known.cold or max(COLD_FIRST, known.warm)


def amounts_of(ledger: Ledger, ticket: Ticket, now: float) -> tuple[Amounts, bool]:
    """Return what a ticket would take now, and whether it would lead."""
    known = ledger.prefixes.get(ticket.prefix)
    amounts = dict(ticket.amounts)
    if "output" not in amounts:
        amounts["output"] = known.output if known is not None and known.output else OUTPUT_LEAST
    if not ticket.first or not ticket.prefix:
        if ticket.context and ticket.cache_until - CLEAN_S <= now:
            amounts["input"] = amounts.get("input", 0.0) + ticket.context
        if ticket.estimated:
            expected = ticket.estimated * estimates.reserve_factor(
                ledger.corrections, ticket.kind, ticket.family
            )
            amounts["input"] = amounts.get("input", 0.0) + expected
        return amounts, False
    unshared = known is not None and known.unshared >= UNSHARED
    warm = known is not None and known.warm_until > now and not unshared
    amounts["input"] = amounts.get("input", 0.0) + first_cost(ledger, ticket.prefix, warm=warm)
    return amounts, not warm and not unshared


def waits_for_leader(ledger: Ledger, ticket: Ticket, now: float) -> float:
    """Return when a follower should look again, or 0 when it need not wait."""
    if not ticket.first or not ticket.prefix:
        return 0.0
    known = ledger.prefixes.get(ticket.prefix)
    if (
        known is None
        or known.warm_until > now
        or known.unshared >= UNSHARED
        or known.leader not in ledger.reservations
        or known.leader_until <= now
    ):
        return 0.0
    return min(known.leader_until, now + LEADER_POLL_S)


def lead(ledger: Ledger, reservation: Reservation, now: float) -> None:
    """Make a granted first request the leader of its prefix."""
    known = ledger.prefixes.setdefault(reservation.prefix, Prefix(at=now))
    known.leader, known.leader_until = reservation.id, now + LEADER_S


def warmed(ledger: Ledger, reservation: Reservation, now: float) -> None:
    """A reply began: its prefix can be read from the cache, and lives on from here."""
    if not reservation.prefix:
        return
    known = ledger.prefixes.setdefault(reservation.prefix, Prefix(at=now))
    known.warm_until, known.at = now + TTL_S, now
    if known.leader == reservation.id:
        known.leader = ""


def learned(
    ledger: Ledger,
    reservation: Reservation,
    counted: float,
    read: float,
    output: float,
    now: float,
) -> None:
    """Learn from a settled request what its kind costs."""
    if not reservation.prefix:
        return
    known = ledger.prefixes.setdefault(reservation.prefix, Prefix(at=now))
    was_warm = known.warm_until > reservation.at
    warmed(ledger, reservation, now)
    known.output = _mixed(known.output, output) if known.n else output
    if not reservation.first:
        return
    known.n += 1
    if read >= SHARED_LEAST:
        known.warm = _mixed(known.warm, counted)
        known.unshared = 0
    else:
        known.cold = _mixed(known.cold, counted)
        if was_warm:
            known.unshared += 1


def abandoned(ledger: Ledger, reservation: Reservation) -> None:
    """A leader ended without a reply: the next first request leads."""
    known = ledger.prefixes.get(reservation.prefix)
    if known is not None and known.leader == reservation.id:
        known.leader = ""


def models(ledger: Ledger) -> list[str]:
    """Return the models that this account's agents used, the last one first."""
    newest = sorted(ledger.prefixes, key=lambda key: ledger.prefixes[key].at, reverse=True)
    return list(dict.fromkeys(key.split("|", 1)[0] for key in newest))


def family_told(ledger: Ledger, told: str) -> str:
    """Return the family of a model that somebody names from outside, by a short name maybe."""
    return family_of(meant(told, models(ledger)) if told.strip() else told)


def prune(ledger: Ledger, now: float) -> None:
    """Forget kinds not seen for a month, and the oldest beyond ``KEEP``."""
    by_age = sorted(ledger.prefixes, key=lambda key: ledger.prefixes[key].at)
    beyond = by_age[: max(0, len(by_age) - KEEP)]
    for key in {*beyond, *(k for k, p in ledger.prefixes.items() if p.at < now - KEEP_S)}:
        del ledger.prefixes[key]


def shift(ledger: Ledger, by: float) -> None:
    """Move every time by ``by`` seconds (the clock ran back)."""
    for known in ledger.prefixes.values():
        known.warm_until += by
        known.leader_until += by
        known.at += by


def _mixed(old: float, new: float) -> float:
    return new if not old else old + RATE * (new - old)
