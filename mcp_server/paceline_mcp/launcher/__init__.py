"""How the server gets its packages: standard library only, any Python from 3.11 on.

``places``   where an environment may stand, and whether one is ready
``install``  makes one from ``requirements.lock``, one process at a time
``start``    finds or makes one, then becomes the server
"""
