"""A diagram on several nodes: processes that run the cores of `dpc`, and what starts and asks them."""
