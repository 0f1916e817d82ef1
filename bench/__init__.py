"""Benchmarks: `python -m bench [NAME ...]`. Ratios within one run, written to bench/results with the machine's load."""
