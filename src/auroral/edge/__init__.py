"""Where data enters and leaves: sources are stamped and logged here, files read, outputs written.

Everything that may lose power in the middle is here too. No Spark, and no decision about what is computed.
"""
