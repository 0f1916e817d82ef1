"""What to compute: schemas, expressions, boxes, diagrams, deployments, their XML, and the checking of it all.

Plain immutable values and pure functions. No I/O beyond parsing text that is handed in, no Spark, no clock.
"""

from auroral.model.boxes.table import box_table

__all__ = ["box_table"]
