"""One module for each family of boxes: what a box is told (its spec), and what that means for its inputs.

A spec is what a user writes; `resolve` checks it against the streams that it reads and gives a typed box, the
only form that evaluators see. Nothing here evaluates anything.
"""
