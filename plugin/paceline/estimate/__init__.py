"""What a tool call will add to an agent's next request, in tokens, before and after it ran.

``text``   tokens of a text, by tokenizer          ``read``    what Read returns for a path
``tool``   any other tool, and what came back      ``learn``   corrections from settled usage
``advise`` the line Claude gets before a huge read ``plan``    a whole fan-out
"""
