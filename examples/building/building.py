"""Sensors in a building: where there is smoke, and which rooms are too warm while people are in them.

    auroral check examples/building/building.py

Smoke must be told soon; whether a room is too warm may wait for a minute, if that saves false alarms. So each output has an X of its own.
"""

import auroral

READING = "ts timestamp, sensor string, room string, kind string, value double"

building = auroral.diagram("building", bucket="1s")
ground, upper = (building.input(floor, READING, stime="ts") for floor in ("ground", "upper"))
smoke, warmth, motion = ground.union("readings", upper).split(
    "by kind", ["kind = 'smoke' and value > 0.5", "kind = 'celsius'", "kind = 'motion'"]
)

# One sensor may be wrong: two of a room must have seen it within ten seconds.
seen = smoke.aggregate("smoke", {"sensors": "count_distinct(sensor)"}, window="10s", advance="2s", by=["room"])
seen.filter("fire", "sensors >= 2").output(availability="6s")

mean = warmth.aggregate("mean", {"celsius": "avg(value)"}, window="60s", advance="20s", by=["room"])
people = motion.aggregate("people", {"seen": "count()"}, window="60s", advance="20s", by=["room"])
# Results of one window have one stime, and those of different windows lie twenty seconds apart.
columns = {"room": "left.room", "celsius": "left.celsius", "seen": "right.seen"}
warm = mean.filter("warm", "celsius > 26.0")
warm.join("too warm", people, on="left.room = right.room", within="0s", columns=columns).output(availability="60s")
