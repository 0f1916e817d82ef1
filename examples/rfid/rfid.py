"""RFID tracking: what leaves a shop without having been paid for, and how many things stand in each zone.

    auroral check examples/rfid/rfid.py

Who leaves is gone in seconds; counts of stock can wait. So each output has an X of its own, and each is a query of its own.
"""

import auroral


@auroral.function("string -> bool")
def nothing(text):
    return text is None


READ = "ts timestamp, tag string, zone string, rssi int"

shop = auroral.diagram("rfid", bucket="500ms")
shelves, door = (shop.input(readers, READ, stime="ts") for readers in ("shelves", "door"))
till = shop.input("till", "ts timestamp, tag string", stime="ts")

with shop.query("leaving"):
    # A tag at the door is read many times a second: once is enough. Weak signals are of things that only pass by.
    near = door.filter("near", "rssi > -60")
    once = near.aggregate("at the door", {"reads": "count()"}, window="2s", by=["tag"])
    # A payment counts for half a minute, and also if the till is a second behind the door.
    columns = {"tag": "left.tag", "reads": "left.reads", "paid": "right.tag"}
    left = once.join("left", till, on="left.tag = right.tag", within=("1s", "30s"), columns=columns, how="left")
    left.filter("unpaid", "nothing(paid)").map("alarms", {"tag": "tag", "reads": "reads"}).output(availability="4s")

with shop.query("stock"):
    # Two zones may read one tag: it is where it is heard best.
    heard = shelves.aggregate("heard", {"rssi": "max(rssi)"}, window="10s", by=["tag"], start="from")
    best = shelves.aggregate("by zone", {"rssi": "max(rssi)"}, window="10s", by=["tag", "zone"])
    columns = {"tag": "left.tag", "zone": "left.zone", "from": "right.from"}
    placed = best.join(
        "placed", heard, on="left.tag = right.tag and left.rssi = right.rssi", within="0s", columns=columns
    )
    placed.aggregate("stock", {"things": "count_distinct(tag)"}, window="10s", by=["zone"]).output(availability="30s")
