"""How rows come to the process of a source: lines over TCP, requests over HTTP, files that appear, a file that grows.

Each row is logged durably before anybody is told that it was taken, and none is taken twice when the process was killed. What was
recorded is read by `auroral.node.feeds`.
"""
