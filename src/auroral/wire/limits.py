"""How large anything on the wire may be. Whoever sends more is in error, or hostile: nothing beyond these is kept, or built up."""

from __future__ import annotations

KIB, MIB = 1024, 1024 * 1024

PIECE = 128 * KIB
"""Bytes of a message that go at once. What is urgent waits for no more than one of them on this side of the network."""
MOST_PIECE = PIECE + KIB
"""Bytes of one thing on a connection: a piece and what says whose it is. Also the largest hello."""

LARGE = 1 * MIB
"""Bytes from which a message is written and read aside of the threads that send and receive: those go on with what is urgent."""
MOST_HEADER = 4 * MIB
"""Bytes of a message without its rows. A heartbeat of a thousand streams with 64 hashes each takes 3 MiB."""
MOST_PAYLOAD = 512 * MIB
"""Bytes of the rows of a message: a bucket is meant to be evaluated within a second."""
ROWS_AT_ONCE, BUCKETS_AT_ONCE = 64 * MIB, 4096
"""Bytes of rows, and buckets, beyond which stable ones are sent as several messages. A single bucket may have more rows."""
MOST_ENTRIES = 65_536
"""Of any list in a message: streams, hashes, contents, replicas."""
MOST_ROWS = (1 << 31) - 1
"""Of one bucket: as many as Arrow writes at once. Columns without values could claim any number at no cost."""
MOST_SCHEMA, MOST_COLUMNS, MOST_NESTED = 4 * MIB, 4096, 32
"""Bytes that tell of the columns of rows, how many there are, with all that is in lists and structs, and how deep those go."""
MOST_BATCHES = 65_536
"""That the rows of a bucket come in."""
MOST_ARRAYS, ARRAYS_AT_ONCE = 262_144, 65_536
"""Columns by batches, of all rows of a message, and beyond which stable buckets are sent as several messages. Each takes some 600 bytes of
memory and 10 us, however few bytes it comes with."""
LONGEST_NAME = 1024
"""Characters of the name of a stream, a core or a node."""
LARGEST_NUMBER = (1 << 63) - 1
"""Buckets, counts and numbers of subscriptions: what others can hold in 64 bits."""
LARGEST_HASH = (1 << 128) - 1
"""The engine's logical hash has 128 bits, the simulator's 61. -1 stands for a bucket that is lost."""
LONGEST_TIME = 1e9
"""Seconds, 31 years: of anything that was held back, leased or reserved."""

MOST_STRANGERS = 256
"""Connections of nodes that are neither in the book nor certified: anybody who reaches the port can make them, and each takes two threads. Who has more
clients than that, and no certificates, says how many (`strangers` of a transport)."""
MOST_CORES = 4096
"""Of one node."""
MOST_CHANNELS = 65_536
"""Of one connection, in each direction: a pair of cores has one for control and two for each stream."""
MOST_PARTED = 4096
"""Pairs of cores of one connection whose nodes did not agree on where one of them lives, and that live on: a peer can say of any two that
they are."""

WINDOW = 8 * MIB
"""Bytes of a lane of a stream that may be on their way without having been taken: more than a second's rows of most streams, and
what a reader that is stuck has in its memory. One message may always be on its way, however large."""
MOST_CONTROL = 16 * MIB
"""Bytes of control messages that wait for a connection: a peer that takes none for so long is as good as dead."""
MOST_CORRECT = 1024 * MIB
"""Bytes of stable rows that wait for a connection in all, beyond which nothing more is taken. The host should have slowed down long
before (`backlog`)."""
MOST_FRESH, MOST_FRESH_BYTES = 16, 32 * MIB
"""Tentative frames of one stream that wait for a reader: older ones are overtaken by what is corrected."""
MOST_UNDELIVERED = 64 * MIB
"""Bytes that came and wait for the event loop: beyond, nothing more is read."""
