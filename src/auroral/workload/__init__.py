"""Federated load: organisations pay one another, under private contracts with bounded prices, to run tasks for a while.

Each core takes an event and the time, and gives effects: `handle(event, now) -> [effect]`. Nothing here does I/O, reads a clock or draws a
random number. Money and loads are exact numbers, never floats: what one side pays, the other gets.
"""
