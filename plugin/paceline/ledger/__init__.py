"""The ledger: who may send how much, when, and what is known of each limit.

Pure decisions over a value, with the time passed in:

* ``values``  the value itself: buckets, reservations, tickets, prefixes, shares; to and from JSON
* ``bucket``  one token bucket: refill, room, take, give back
* ``belief``  what is known of a limit and from where
* ``learn``   a limit that nobody tells, found from what was accepted and refused
* ``order``   who goes next
* ``admit``   enqueue a request, grant what fits in its turn
* ``settle``  how a reservation ends; ``refuse`` what a refusal means; ``passing`` expiry
* ``breaker`` and ``prefix``  closed accounts, shared prompt caches
* ``cost``    what a request will count, from the agent's past
* ``store``   the only module that touches a file: one JSON file an account, under a lock
"""
