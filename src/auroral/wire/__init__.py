"""What nodes say to one another, and how it gets there.

`codec` turns every message of the protocol into bytes and back; `transport` is what a host sends and hears through, and `memory` and
`flight` are two of that kind: within one process, and over Arrow Flight. No protocol is here (`dpc`), and no event loop (`node`).
"""
