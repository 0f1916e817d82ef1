"""Calls of one site, five a second, to the source at an address: python feed.py HOST:PORT

Whatever becomes due while the source cannot be reached is sent when it can, with the times at which it was due.
"""

import sys
import time
from datetime import UTC, datetime

from auroral.client import Sender

EACH_SECOND = 5
A_DAY = 86_400.0

begun, sent = time.time(), 0
with Sender(sys.argv[1], patience=A_DAY) as site:
    while True:
        due = int((time.time() - begun) * EACH_SECOND)
        times = [datetime.fromtimestamp(begun + number / EACH_SECOND, UTC) for number in range(sent, due)]
        site.send([{"ts": at.isoformat(), "page": "/index"} for at in times])
        sent = due
        time.sleep(0.2)
