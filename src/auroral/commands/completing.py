"""What a parser takes, in the words of shells: scripts for bash, zsh and fish that complete it."""

from __future__ import annotations

import re
from argparse import Action, ArgumentParser, _HelpAction, _SubParsersAction, _VersionAction
from collections.abc import Callable, Sequence
from dataclasses import dataclass

PROGRAM = "auroral"
_FOLDER, _FILE = re.compile(r"\b(DIR|\w*FOLDER)\b"), re.compile(r"\b(FILE|PATH|DIAGRAM|DEPLOY)\b|\.(xml|py)\b")
_NOTED = _HelpAction, _VersionAction


@dataclass(frozen=True, slots=True)
class Argument:
    """An option, by its names, or, without any, what stands by its place."""

    names: tuple[str, ...]
    words: str
    value: str = ""
    """What it is called; empty for an option that takes none."""
    choices: tuple[str, ...] = ()
    folder: bool = False
    file: bool = False
    again: bool = False
    """Whether it may be given more than once."""


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    words: str
    arguments: tuple[Argument, ...]

    @property
    def options(self) -> list[Argument]:
        return [one for one in self.arguments if one.names]

    @property
    def places(self) -> list[Argument]:
        return [one for one in self.arguments if not one.names]


def described(parser: ArgumentParser) -> tuple[Command, ...]:
    """The program itself first, under an empty name."""
    below = next(action for action in parser._actions if isinstance(action, _SubParsersAction))
    told = {choice.dest: choice.help or "" for choice in below._choices_actions}
    own = tuple(_argument(action) for action in parser._actions if action is not below)
    return (
        Command("", "", own),
        *(
            Command(name, _short(told.get(name, "")), tuple(map(_argument, one._actions)))
            for name, one in below.choices.items()
        ),
    )


def _argument(action: Action) -> Argument:
    value = ""
    if action.nargs != 0 and not isinstance(action, _NOTED):
        value = str(action.metavar or action.dest)
    return Argument(
        tuple(action.option_strings),
        _short(action.help or ""),
        value,
        tuple(map(str, action.choices or ())),
        _FOLDER.search(value) is not None,
        _FILE.search(value) is not None,
        action.nargs in ("*", "+") or type(action).__name__ == "_AppendAction",
    )


def _short(words: str) -> str:
    """As much as stands beside a word that is offered."""
    return re.split(r"[:;(]|\. |, (?:as|also|for|which)", words.replace("%%", "%"), maxsplit=1)[0].strip()[:70]


def bash(commands: Sequence[Command]) -> str:
    top, *others = commands
    names = " ".join([*(one.name for one in others), *(name for one in top.options for name in one.names)])
    lines = [
        f"# bash completion of {PROGRAM}, made by `{PROGRAM} completion bash`",
        f"_{PROGRAM}() {{",
        '    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command="" i',
        "    COMPREPLY=()",
        "    for ((i = 1; i < COMP_CWORD; i++)); do",
        "        if [[ ${COMP_WORDS[i]} != -* ]]; then command=${COMP_WORDS[i]}; break; fi",
        "    done",
        '    if [[ -z $command ]]; then COMPREPLY=($(compgen -W "' + names + '" -- "$cur")); return; fi',
        '    case "$command $prev" in',
    ]
    for one in others:
        for option in one.options:
            after = " | ".join(f'"{one.name} {name}"' for name in option.names)
            if option.choices:
                lines.append(f"        {after}) {_words(option.choices)} return ;;")
            elif option.folder:
                lines.append(f"        {after}) compopt +o bashdefault +o default -o dirnames; return ;;")
            elif option.value:
                lines.append(f"        {after}) return ;;")
    lines += ["    esac", '    case "$command" in']
    for one in others:
        options = tuple(name for option in one.options for name in option.names)
        offered = [f"if [[ $cur == -* ]]; then {_words(options)}"]
        if chosen := tuple(choice for place in one.places for choice in place.choices):
            offered.append(f"else {_words(chosen)}")
        elif one.places and all(place.folder for place in one.places):
            offered.append("else compopt +o bashdefault +o default -o dirnames;")
        lines.append(f"        {one.name}) {' '.join(offered)} fi ;;")
    # What is left is the name of a file, if anything: bash offers that by itself.
    return "\n".join([*lines, "    esac", "}", f"complete -o bashdefault -o default -F _{PROGRAM} {PROGRAM}", ""])


def _words(words: Sequence[str]) -> str:
    return f'COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$cur"));'


def zsh(commands: Sequence[Command]) -> str:
    top, *others = commands
    lines = [
        f"#compdef {PROGRAM}",
        f"# zsh completion of {PROGRAM}, made by `{PROGRAM} completion zsh`",
        f"_{PROGRAM}() {{",
        "    local context state state_descr line",
        "    typeset -A opt_args",
        "    local -a commands=(",
        *(f"        {_zsh_quoted(f'{one.name}:{one.words}')}" for one in others),
        "    )",
        f"    _arguments -C {' '.join(_zsh_argument(one) for one in top.options)} '1:command:->command' '*::argument:->argument'",
        "    case $state in",
        "        command) _describe -t commands command commands ;;",
        "        argument)",
        "            case $words[1] in",
    ]
    for one in others:
        lines.append(f"                {one.name}) _arguments {' '.join(map(_zsh_argument, one.arguments))} ;;")
    lines += ["            esac ;;", "    esac", "}"]
    ends = f'if [[ $funcstack[1] == _{PROGRAM} ]]; then _{PROGRAM} "$@"; else compdef _{PROGRAM} {PROGRAM}; fi'
    return "\n".join([*lines, ends, ""])


def _zsh_argument(one: Argument) -> str:
    action = ":"
    if one.choices:
        action = f":({' '.join(one.choices)})"
    elif one.folder:
        action = ":_files -/"
    elif one.file:
        action = ":_files"
    value = f":{_zsh_escaped(one.value)}{action}" if one.value else ""
    if not one.names:
        return _zsh_quoted(f"{'*' if one.again else ''}{value if one.value else ':argument:'}")
    told = f"[{_zsh_escaped(one.words)}]"
    return " ".join(_zsh_quoted(f"{'*' if one.again else ''}{name}{told}{value}") for name in one.names)


def _zsh_escaped(text: str) -> str:
    return re.sub(r"([\[\]:\\])", r"\\\1", text)


def _zsh_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def fish(commands: Sequence[Command]) -> str:
    top, *others = commands
    lines = [f"# fish completion of {PROGRAM}, made by `{PROGRAM} completion fish`"]
    first = "__fish_use_subcommand"
    lines += [_fish(first, option) for option in top.options]
    for one in others:
        lines.append(f"complete -c {PROGRAM} -n {first} -f -a {one.name} -d {_fish_quoted(one.words)}")
        within = f"'__fish_seen_subcommand_from {one.name}'"
        lines += [_fish(within, option) for option in one.arguments if option.names or option.choices]
    return "\n".join([*lines, ""])


def _fish(when: str, one: Argument) -> str:
    names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in one.names)
    value = ""
    if one.choices:
        value = f" {'-x' if one.names else '-f'} -a {_fish_quoted(' '.join(one.choices))}"
    elif one.folder:
        value = " -x -a '(__fish_complete_directories)'"
    elif one.file:
        value = " -r -F"
    elif one.value:
        value = " -x"
    return f"complete -c {PROGRAM} -n {when}{' ' + names if names else ''}{value} -d {_fish_quoted(one.words)}"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SHELLS: dict[str, Callable[[Sequence[Command]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
