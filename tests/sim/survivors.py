"""Why drawn faults that survive do, by their names."""

WHY: dict[str, str] = {}
