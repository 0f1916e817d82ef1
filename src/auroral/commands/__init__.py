"""The commands of `auroral`, one module each, and what several of them share.

A command module has NAME, SUMMARY, EXAMPLE, `configure(parser)` and `run(arguments) -> exit code`. The work itself
lives in the parts below (`model`, `engine`, `app`): here are only arguments, texts and exit codes.
"""
