"""What every test stands on."""

from __future__ import annotations

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A script's shell starts what goes to its background so, and every child would inherit it:
    # what is to end on Ctrl-C never would.
    signal.signal(signal.SIGINT, signal.default_int_handler)
