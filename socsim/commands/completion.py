"""`socsim completion`: scripts for shells, made from the commands' own parsers.

Names of shipped files are asked for when they are completed (`socsim list platforms --quiet`), so a script knows
those that come later.
"""

from __future__ import annotations

from argparse import Action, ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from typing import NamedTuple

from socsim.commands.arguments import Named, OneOf, actions_of, choice
from socsim.commands.output import write

SHELLS = ("bash", "zsh", "fish")


class Completed(NamedTuple):
    """An argument as completion sees it."""

    flags: tuple[str, ...]  # empty for a positional one
    words: tuple[str, ...]  # what may stand there
    names: tuple[str, ...]  # kinds of shipped files whose names may stand there
    takes_value: bool
    repeated: bool
    help: str


def configure(parser: ArgumentParser) -> None:
    """The options of `socsim completion`."""
    parser.epilog = (
        "bash:  socsim completion bash > \\\n"
        "           ~/.local/share/bash-completion/completions/socsim\n"
        "zsh:   socsim completion zsh > ~/.zfunc/_socsim\n"
        "           (with ~/.zfunc in fpath, before compinit)\n"
        "fish:  socsim completion fish > ~/.config/fish/completions/socsim.fish"
    )
    choice(parser, "shell", kind="shell", words=SHELLS, text="the shell")


def run(options: Namespace) -> int:
    """Print the script."""
    scripts = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}
    write(scripts[options.shell]())
    return 0


def completed_commands() -> dict[str, tuple[str, list[Completed]]]:
    """Help and arguments of every command."""
    from socsim.cli import build_parser
    from socsim.commands import available

    commands = {}
    for command in available():
        _, own = build_parser(command)
        commands[command.name] = (command.help, [_completed(action) for action in actions_of(own)])
    return commands


def _completed(action: Action) -> Completed:
    words = action.type.words if isinstance(action.type, OneOf) else ()
    names = tuple(action.type.kind.split()) if isinstance(action.type, Named) else ()
    text = (action.help or "").replace("%%", "%")
    return Completed(tuple(action.option_strings), words, names, action.nargs != 0, action.nargs == "+", text)


def bash_script() -> str:
    """Completes commands, options, their words, names and files, in bash."""
    return _BASH.format(
        commands=" ".join(completed_commands()), options=_case_lines(_options), values=_case_lines(_values),
        positionals=_case_lines(_positionals), valued=_valued_flags(),
    )  # fmt: skip


def zsh_script() -> str:
    """The same for zsh, which runs bash's completions."""
    return "#compdef socsim\nautoload -U +X bashcompinit && bashcompinit\n" + bash_script()


def _case_lines(lines: Callable[[str, list[Completed]], Iterator[str]]) -> str:
    return "\n".join(line for name, (_, arguments) in completed_commands().items() for line in lines(name, arguments))


def _options(command: str, arguments: list[Completed]) -> Iterator[str]:
    flags = " ".join(flag for argument in arguments for flag in argument.flags)
    yield f'        {command}) words="{flags}" ;;'


def _values(command: str, arguments: list[Completed]) -> Iterator[str]:
    for argument in arguments:
        if argument.flags and argument.takes_value:
            patterns = "|".join(f"{command}:{flag}" for flag in argument.flags)
            yield f"        {patterns}) {_shell_words(argument)}; return ;;"


def _positionals(command: str, arguments: list[Completed]) -> Iterator[str]:
    positional = [argument for argument in arguments if not argument.flags]
    for index, argument in enumerate(positional):
        position = "*" if argument.repeated else str(index)
        yield f"        {command}:{position}) {_shell_words(argument)} ;;"


def _valued_flags() -> str:
    """A pattern of all options that are followed by a value."""
    arguments = [argument for _, known in completed_commands().values() for argument in known if argument.takes_value]
    return "|".join(dict.fromkeys(flag for argument in arguments for flag in argument.flags))


def _shell_words(argument: Completed) -> str:
    if argument.words:
        return f'_socsim_words "{" ".join(argument.words)}"'
    return f'_socsim_names "{" ".join(argument.names)}"' if argument.names else "_socsim_files"


_BASH = """\
# socsim completion for bash; made by `socsim completion bash`
_socsim_words() {{ COMPREPLY+=($(compgen -W "$1" -- "$cur")); }}
_socsim_files() {{ compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -f -- "$cur")); }}
_socsim_names() {{
    local kind
    for kind in $1; do _socsim_words "$(socsim list "$kind" --quiet 2>/dev/null)"; done
    _socsim_files
}}
_socsim() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}" command="${{COMP_WORDS[1]}}" words=""
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        _socsim_words "{commands} --help --version"
        return
    fi
    case "$command:$prev" in
{values}
    esac
    if [ "${{cur:0:1}}" = "-" ]; then
        case "$command" in
{options}
        esac
        _socsim_words "$words"
        return
    fi
    local position=0 index
    for ((index = 2; index < COMP_CWORD; index++)); do
        case "${{COMP_WORDS[index-1]}}" in {valued}) continue ;; esac
        case "${{COMP_WORDS[index]}}" in -*) ;; *) position=$((position + 1)) ;; esac
    done
    case "$command:$position" in
{positionals}
    esac
}}
complete -F _socsim socsim
"""


def fish_script() -> str:
    """Completes the same in fish."""
    lines = ["# socsim completion for fish; made by `socsim completion fish`", "complete -c socsim -f"]
    for command, (text, arguments) in completed_commands().items():
        lines.append(f"complete -c socsim -n __fish_use_subcommand -a {command} -d {_quoted(text)}")
        lines += [_fish_line(command, argument) for argument in arguments]
    return "\n".join(lines) + "\n"


def _fish_line(command: str, argument: Completed) -> str:
    parts = [f"complete -c socsim -n '__fish_seen_subcommand_from {command}'"]
    parts += [f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in argument.flags]
    if argument.flags and argument.takes_value:
        parts.append("-r")
    if argument.words:
        parts.append(f"-a {_quoted(' '.join(argument.words))}")
    elif argument.names:
        parts.append(f"-F -a {_quoted('; '.join(f'(socsim list {kind} --quiet)' for kind in argument.names))}")
    elif argument.takes_value:
        parts.append("-F")
    return " ".join([*parts, f"-d {_quoted(argument.help)}"])


def _quoted(text: str) -> str:
    """Text in single quotes, as fish takes it."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
