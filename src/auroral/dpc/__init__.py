"""Delay, Process, and Correct: the protocol as state machines.

Each core takes an event and the time, and gives effects: `handle(event, now) -> [effect]`. Nothing here does I/O, reads a clock
or draws a random number; who runs the cores (a node, or the simulator) carries the effects out.
"""
