"""What was, in the same page: a deployment's folder with what its processes recorded, or a trace of the simulator.

`recording` reads either into the same moments, `simulated` writes those of a simulation, `replaying` says what the page shows at a time, and `server`
serves it. Nothing is asked of any process.
"""
