"""The obviously right evaluator of every box: tuple at a time, plain Python, for tests and simulation.

Written from the semantics: no Spark, no Arrow, nothing of the engine, and buckets only for `apply`.
"""
