"""Boxes, a function and an aggregate that Auroral finds by this package's entry points."""
