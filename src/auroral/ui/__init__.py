"""The dashboard: one page that shows a deployment while it runs, or what was recorded of one.

It looks through the questions that the commands ask (status, tail, events, why, explain), and changes nothing but by `controls`. What is shown is decided here
in plain functions; the page in `static/` draws it.
"""
