"""Fits the token model of ``paceline.estimate.text`` and says how far off it is.

``python -m paceline_bench.estimator fit``      held-out error by kind and against other counters;
                                                with ``--write`` the weights are written
``python -m paceline_bench.estimator speed``    characters a second by kind
``python -m paceline_bench.estimator label F``  what the reconstruction counts in each file of F

Needs the dependency group ``fit`` and Python 3.12 or later.
"""
