"""What ``paceline status``, ``top`` and ``report`` show.

* ``budget``   levels, waiters, reservations and closed accounts of a ledger, at a moment
* ``overview`` all that ``status`` tells, as one JSON value
* ``sheet``    the same for a person
* ``newest``   which session was alive last, and where its files lie
* ``counters`` grants, refusals and tokens, counted from the event log as it grows
* ``frame``    one frame of ``top``: its value, and how it is drawn
* ``markup``   HTML and SVG whose texts are always escaped
* ``spans``    time lines: who was held, granted, refused, and when
* ``chart``    tokens against the limit
* ``page``     the HTML report
"""
