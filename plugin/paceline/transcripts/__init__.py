"""The client's own files, read as streams: who was launched, how each ended, what it cost.

They are undocumented and change; what is read here was seen on 2.1.240 and 2.1.332. Whatever is
missing, cut, huge or of another shape is passed over, never fatal. Off the hooks' fast path but for
:mod:`paceline.transcripts.lines`.
"""
