"""The ledger: who may send how much, when, and what is known of each limit.

Pure decisions over a value, with the time passed in:

* ``values``    the value itself: buckets, reservations, tickets, prefixes, shares
* ``bucket``    one token bucket: refill, room, take, give back; ``levels`` those of a family
* ``belief``    what is known of a limit and from where; ``observe`` what a response's headers say
* ``learn``     a limit that nobody tells, found from what was accepted and refused; ``history``
  keeps that, ``bounds`` is what it proves
* ``order``     who goes next; ``view`` what is left for those behind
* ``admit``     enqueue a request, grant what fits in its turn
* ``settle``    how a reservation ends; ``charge`` what nobody reserved; ``passing`` expiry
* ``refuse``    what a refusal means; ``breaker`` closed accounts
* ``prefix``    shared prompt caches
* ``cost``      what a request will count, from the agent's past; ``asking`` puts it as a question
* ``document``  the value's JSON
* ``store``     one JSON file an account; ``lock`` one process at a time
"""
