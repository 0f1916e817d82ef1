"""How a query runs on Spark: compiled to Spark SQL, evaluated bucket range by bucket range over the edge log.

Everything that imports pyspark lives here. No protocol and no transport: a range goes in, buckets come out.
"""
