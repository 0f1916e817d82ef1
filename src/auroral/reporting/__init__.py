"""`auroral report`: what a run folder says of its run, gathered, and set as one page of HTML that needs nothing else.

It reads the folder alone, so that it works while the run goes on and long after. Whether the output is right is not judged here: that is
`verify`'s, whose verdict it shows.
"""
