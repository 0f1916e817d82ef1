"""`auroral completion`: a script with which a shell completes commands, options and their values, made from the parser."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from auroral.commands.completing import SHELLS, described
from auroral.commands.terminal import FINE, say

NAME = "completion"
SUMMARY = "print a script with which bash, zsh or fish completes commands, options and values"
EXAMPLE = """\
  auroral completion bash > ~/.local/share/bash-completion/completions/auroral
  auroral completion zsh > ~/.zfunc/_auroral
  auroral completion fish > ~/.config/fish/completions/auroral.fish"""


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=list(SHELLS), help=f"one of {', '.join(SHELLS)}")


def run(args: Namespace) -> int:
    # Here, since the parser has this command too.
    from auroral.cli import make_parser

    say(SHELLS[args.shell](described(make_parser())).rstrip())
    return FINE
