"""A process that runs a diagram: sources are logged, closed buckets evaluated, outputs committed, all resumable.

Here is what has a lifetime: run folders, threads, the order of commits. What is computed is the engine's, how
rows are stamped and written is the edge's. One node without replicas, so far.
"""
