"""``paceline run``: a headless session that is resumed until every agent has delivered.

* ``command``  the person's command line: its session, its prompt, the same command resumed
* ``flags``    which of the client's flags take a value
* ``plugin``   whether the plugin is in that command
* ``variables`` what is set for the client
* ``child``    the client's process: streamed through, stopped, reaped
* ``tree``     the processes below it
* ``listen``   the session's id, read off its output
* ``ended``    what a session is when its process is gone
* ``decide``   resume, wait or done: pure
* ``words``    what a person reads on stderr
* ``drive``    the loop around all of them
"""
