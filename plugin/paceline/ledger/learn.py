"""Finding an input limit that nobody tells, from what was accepted and what was refused.

What those prove of the rate stands in ``bounds``. While the bounds are loose the pace moves fast,
when they are tight it stands just below the upper one. Where one request is much of what came in
between two refusals, that bound may be too high by as much: then the pace begins a part of that
lower and makes it up while requests are accepted. The upper bound loosens with age, and faster and
faster while requests that had to wait for their turn are accepted one after the other, so a limit
that was raised is found again at the price of less than one refusal in fifty requests. Bounds that
contradict each other mean that the limit moved, and the older half of the evidence goes; where the
bound had grown for long before a refusal, only the last minute counts.

The API also refuses for reasons of its own, which bound nothing and end by themselves. So a bound
is believed for long only when refusals have shown it more than once: until then it loosens with
time, and a pace that nothing bounds doubles in seconds.

What others on the account spend counts as a lower R, which is what is left for us.

An upper bound far below the lowest limit that any account has is no limit: the API refused for
reasons of its own, or others have eaten nearly all. Both end by themselves, so all of it is
forgotten once, and whoever waits goes a slot apart: what is refused again then is believed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING  # noqa: TID253 - off the hook's fast path

from paceline.ledger import history
from paceline.ledger.bounds import bounds, burst

if TYPE_CHECKING:
    from paceline.ledger.values import Learner

FIRST_S = 15.0
"""The first cut spreads what was accepted over this many seconds at least: the burst that a full
bucket let through says nothing of its rate, and capacities seen are 15 to 60 s of the rate."""
BELOW = 0.96
"""The pace stands this far below the upper bound, whose error is always upwards."""
UNSURE, SURE, LOWER = 0.25, 0.1, 0.2
"""Part of what the upper bound may be too high by that the pace begins lower, where that is more
than the second part of the bound; at most the third part of it,"""
CLIMB = 50.0
"""and the accepted requests, each of which had waited for its turn, in which it makes that up."""
FLUKE, FLUKE_CALM = 0.5, 5
"""One refusal after so many accepted requests is not believed where it would put the limit below
that part of what is proven: the API counted more than anybody knew. A second one soon is."""
CUT = 0.7
"""Each throttle cuts the pace at least to this part of it while nothing better is known."""
RISE_S = 20.0
"""Seconds in which the pace closes two thirds of the way to where it may go."""
LOOSEN_PER_S = 0.00002
"""Relative growth of the upper bound a second (a fourteenth an hour), up to twice."""
LOOSEN_MOST_PER_S, LOOSEN_PER_CALM = 0.0001, 0.0004
"""The same, and what each accepted request that had waited adds, while requests are many."""
CALM = 110.0
"""Accepted requests, each of which had waited for its turn, after which the bound has doubled. The
fourth power of their part of that is what it has grown by: 9 % after sixty."""
CALM_TOLD = 180.0
"""The same for a number that a refusal's text named, or a guess: it may have been raised since."""
FAR = 4.0
"""Times the pace, for a drop from what went well before to be thought somebody else's work, who
spends the same limit for a while and will stop."""
FAR_S = 60.0
"""Seconds after the last refusal in which such a pace is doubled; the fourth power of their part of
that is what it grows by."""
BEST_RATE = 0.1
"""Part of the way to the pace that the proven rate goes with each incident: it was not so far."""
PRICE_RATE, PRICE_MAX = 0.3, 4.0
"""Weight of the newest incident in the refusals that one is thought to cost, and the most it counts
for: the very first one, when nobody paced, refuses all who came too late."""
UNUSED = 0.6
"""Growth of the bound before a refusal from which the bucket is thought to have been full."""
UNUSED_S = 60.0
"""What was sent longer ago than that, before such a refusal, says nothing of the rate."""
ALONE_S = 5.0
"""Refused before anything was accepted, a request is tried again after about so many seconds: there
is no evidence of a rate, and each further refusal cuts the pace like any other."""
SLOWEST_S = 120.0
"""However low the bounds, a request as large as the refused one goes at least this often."""
UNPROVEN_S, UNPROVEN = 20.0, 0.4
"""Nor is it slower than one such request in this time, while the proven bound would allow far more:
refusals that had nothing to do with our tokens must not hold everybody for minutes."""
LOWEST = 500.0
"""Tokens a second of the lowest input limit that an account ever had: 30,000 a minute, tier 1."""
DOUBT = 0.8
"""A bound below this part of it is doubted: what a refused request would have cost is a guess."""
DOUBT_S = 900.0
"""Seconds in which it is not doubted again."""
IN_A_ROW = 2
"""Refusals, with nothing accepted between them, that a doubt needs."""
UNTESTED_S, UNTESTED, UNTESTED_BY = 60.0, 12.0, 4.0
"""Seconds at least, and large requests at its pace, in which a bound that one refusal has shown is
doubled, like ``CALM``: the API may have refused for reasons of its own. A bound below every limit
has the seconds only. Each further refusal at the same pace makes it so many times longer,"""
PROVEN = 2
"""and so many prove it."""
DISPROVED = 4.0
"""Times such a bound at which a pace that met no refusal has disproved it."""
DOUBLE_S, DOUBLE_LEAST_S, DOUBLE_LARGE = 5.0, 2.0, 2.5
"""Seconds in which a pace doubles that nothing bounds, fewer where so many of the largest requests
go in fewer: a bucket too small for that pace has refused one of them by then."""
STREAK_MAX = 6
"""It takes twice as long for each refusal since anything was accepted, so that nobody hammers."""
SAME = 1.5
"""Paces and bounds within this factor are the same."""
PACE_MIN = 1.0


def sent(
    learner: Learner, reservation: str, tokens: float, now: float, *, waited: bool = False
) -> None:
    """Note a request that goes now; it counts as accepted until it is refused."""
    history.note(learner, [now, tokens, 1, reservation, int(waited)])


def settled(learner: Learner, reservation: str, tokens: float, now: float) -> None:
    """Correct a request by what it really counted, and raise the pace if it may rise."""
    for row in reversed(learner.sent):
        if row[3] == reservation:
            row[1], row[3] = tokens, ""
            learner.calm += row[4]
            break
    history.put_by(learner)
    learner.streak = 0
    rise(learner, now)


def withdrawn(learner: Learner, reservation: str) -> None:
    """Forget a request that never reached the API."""
    learner.sent[:] = [row for row in learner.sent if row[3] != reservation]


def refused(
    learner: Learner,
    reservation: str,
    tokens: float,
    sent_at: float,
    now: float,
    told: float | None,
) -> bool:
    """Note a throttle and cut the pace. Return whether this was a new incident.

    Args:
        learner: changed in place.
        reservation: the refused request's.
        tokens: what it would have counted.
        sent_at: when it went. Refusals of requests that went before the last cut belong to that
            cut: one burst is one incident.
        now: when the refusal was seen.
        told: the rate somebody told, tokens a second. With one, only a proven upper bound below
            it slows the pace: one unlucky refusal must not.
    """
    history.take_apart(learner)
    fresh = _refused(learner, reservation, tokens, sent_at, now, told)
    history.put_by(learner)
    return fresh


def _refused(
    learner: Learner,
    reservation: str,
    tokens: float,
    sent_at: float,
    now: float,
    told: float | None,
) -> bool:
    _note_refusal(learner, reservation, tokens, now)
    calm, learner.calm = learner.calm, 0
    _count(learner, sent_at, now)
    learner.largest = _largest(learner)
    least = max(PACE_MIN, tokens / SLOWEST_S)
    low, high, unsure = bounds(learner.sent)
    if low is not None and high is not None and low * FLUKE > high and calm >= FLUKE_CALM:
        learner.sent.remove(next(r for r in learner.sent if r[0] == now and not r[2]))
        high = None
    elif low is not None and high is not None and low > high * 1.02:
        del learner.sent[: len(learner.sent) // 2]
        low, high, unsure = bounds(learner.sent)
    if told is None and high is not None and _doubtful(learner, high, now):
        _forget(learner, now)
        return True
    if high is not None:
        # With a rate told, a bound only says how much of it is left: nobody looks for more.
        learner.proofs = _proofs(learner, high) if told is None else PROVEN
        learner.high, learner.high_at = high, now
        unsure = max(0.0, unsure - SURE * high)
        learner.unsure = unsure if low is None else min(unsure, max(0.0, high - low))
        # One too large for the bound goes in time by ``view.View.overdue``, not at a higher pace.
        least = max(PACE_MIN, min(least, high), min(tokens / UNPROVEN_S, high * UNPROVEN))
    fresh = sent_at >= learner.cut_at
    learner.streak += fresh
    if fresh:
        # A bucket that cannot hold the refused request lets it go the sooner, the slower it is.
        learner.burst = max(burst(learner.sent, learner.high), tokens)
    if told is not None:
        if high is not None and high < told * BELOW:
            learner.pace = max(least, high * BELOW, low or 0.0)
            learner.cut_at = learner.moved_at = now
        return fresh
    if not fresh:
        return False
    if learner.pace is None:
        guess = achieved(learner, now) or tokens / ALONE_S
        if guess <= 0:
            return True
        if high is not None:
            guess = min(guess, high)
    else:
        guess = learner.pace * CUT
        if low is not None and high is not None:
            guess = max(guess, low, min(learner.pace, high) * BELOW if high < 2 * low else low)
        if high is not None:
            guess = min(guess, _aim(learner, high))
    went, learner.pace = learner.pace or 0.0, max(least, guess)
    _remember(learner, went, now)
    learner.cut_at = learner.moved_at = now
    return True


def _aim(learner: Learner, high: float) -> float:
    """Return the pace to go at, below an upper bound."""
    climbed = min(1.0, learner.calm / CLIMB)
    lower = min(UNSURE * learner.unsure, LOWER * high)
    return high * BELOW - lower * (1.0 - climbed)


def _proofs(learner: Learner, high: float) -> int:
    """Return how often in a row a refusal has shown the same upper bound."""
    if learner.high is None or learner.pace is None:
        return 0
    near = learner.high / SAME <= min(high, learner.pace) and learner.pace <= learner.high * SAME
    return learner.proofs + 1 if near else 0


def _doubtful(learner: Learner, high: float, now: float) -> bool:
    """Say whether no limit explains these refusals; not twice while the first is remembered.

    Where much more went well before, somebody else spends it. Where something was accepted since
    the last refusal, what is left may be little, but it is there, and is paced by.
    """
    if high >= LOWEST * DOUBT or learner.best >= LOWEST or now - learner.doubted_at <= DOUBT_S:
        return False
    return not any(row[2] for row in learner.sent[-IN_A_ROW:])


def _forget(learner: Learner, now: float) -> None:
    """Forget what the refusals seemed to tell: nobody is paced until the next one."""
    learner.sent.clear()
    learner.pace = learner.high = learner.burst = None
    learner.unsure = 0.0
    learner.cut_at = learner.moved_at = learner.doubted_at = now


def _remember(learner: Learner, went: float, now: float) -> None:
    """Keep the pace that went well until this cut, if it did for long enough to prove anything."""
    if not went:
        return
    well = max(0.0, now - learner.cut_at) / FAR_S
    if well >= 1.0:
        learner.best = max(learner.best, went)
    learner.best += BEST_RATE * min(1.0, well) * ((learner.pace or 0.0) - learner.best)


def _note_refusal(learner: Learner, reservation: str, tokens: float, now: float) -> None:
    for row in learner.sent:
        if row[3] == reservation:
            row[0], row[1], row[2], row[3] = now, tokens, 0, ""
            break
    else:
        if tokens > 0:  # of nothing known, nothing can be learned
            learner.sent.append([now, tokens, 0, "", 0])
    learner.sent.sort(key=lambda row: float(row[0]))
    if grown(learner, CALM) > UNUSED:
        learner.sent[:] = [row for row in learner.sent if row[0] >= now - UNUSED_S]


def _count(learner: Learner, sent_at: float, now: float) -> None:
    """Count the refusal to the newest incident, or begin another one and learn from the last."""
    if sent_at < learner.incident_at:
        learner.together += 1
        return
    price = min(learner.together, PRICE_MAX)
    learner.price = max(1.0, learner.price + PRICE_RATE * (price - learner.price))
    learner.together, learner.incident_at = 1, now


def grown(learner: Learner, over: float) -> float:
    """Return the part by which a limit may have risen, after so many accepted requests.

    Where many requests are under way at once, one too many refuses several: then it grows slower.
    """
    return float((learner.calm / (over * learner.price)) ** 4)


def _largest(learner: Learner) -> float:
    """Return the size of the largest request known."""
    return max((float(row[1]) for row in learner.sent), default=0.0)


def _untested(learner: Learner, high: float, age: float) -> float:
    """Return the part by which a bound that few refusals have shown may be too low."""
    if learner.proofs >= PROVEN:
        return 0.0
    over = UNTESTED_S
    if high >= LOWEST * DOUBT:
        over = max(over, UNTESTED * learner.largest / high)
    return float((age / (over * UNTESTED_BY**learner.proofs)) ** 4)


def achieved(learner: Learner, now: float) -> float:
    """Return the rate accepted so far, tokens a second, bursts spread over ``FIRST_S``.

    0.0 when nothing was accepted in the last minute.
    """
    taken = history.accepted(learner, now - 60.0)
    if not taken:
        return 0.0
    tokens = float(sum(size for _, size in taken))
    return tokens / float(max(FIRST_S, now - taken[0][0]))


def search(learner: Learner, now: float) -> None:
    """Raise a pace that nothing bounds also while all wait: nobody else would find it out."""
    if learner.high is None:
        rise(learner, now)


def rise(learner: Learner, now: float) -> None:
    """Raise the pace to where it may be by now: slowly, and no higher than the bounds allow."""
    if learner.pace is None:
        return
    passed = min(10.0, max(0.0, now - learner.moved_at))
    learner.moved_at = now
    if learner.high is not None and not learner.proofs and learner.pace > DISPROVED * learner.high:
        learner.high = None
    if learner.high is None:
        large = DOUBLE_LARGE * learner.largest / learner.pace
        double = min(DOUBLE_S, max(DOUBLE_LEAST_S, large))
        learner.pace *= 2.0 ** (passed / (double * 2.0 ** min(learner.streak, STREAK_MAX)))
        return
    age = max(0.0, now - learner.high_at)
    looser = min(LOOSEN_MOST_PER_S * age, LOOSEN_PER_S * age + LOOSEN_PER_CALM * learner.calm)
    untested = _untested(learner, learner.high, age)
    loose = min(2.0, 1.0 + looser) + max(grown(learner, CALM), untested)
    ceiling = _aim(learner, learner.high * loose)
    if learner.best > FAR * ceiling:
        ceiling = min(learner.best, ceiling * (1.0 + (age / FAR_S) ** 4))
    if learner.pace < ceiling:
        learner.pace += (ceiling - learner.pace) * min(1.0, passed / RISE_S)
