"""Fits the token model of ``paceline.estimate.text`` and says how far off it is.

``python -m paceline_bench.estimator fit``      held-out error by kind and against other counters;
                                                with ``--write`` the weights are written
``python -m paceline_bench.estimator speed``    characters a second by kind
``python -m paceline_bench.estimator label F``  what the reconstruction counts in each file of F

What it needs beside this project (ctok wants Python 3.12) is in docs/estimator.md.
"""
