"""The front door, `socsim COMMAND ...`: finds the module of the command, parses, turns errors into exit codes.

Exit codes: 0 done, 1 the run failed or was interrupted, 2 the input is wrong. Everything a command needs is imported
when it runs; `socsim --help` loads nothing but argparse.
"""

from __future__ import annotations

import sys
from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from socsim import __version__
from socsim.commands import COMMANDS, Command, available
from socsim.commands.arguments import CommandParser, actions_of, common_options

_DESCRIPTION = """\
Simulates LLM inference on SoCs with a CPU, a GPU and an NPU: latency, energy,
and what bounds them."""
_EPILOG = """\
examples:
  socsim run lunar-lake-268v           one request on every device, side by side
  socsim run lunar-lake-268v -d npu --set platform.devices.npu.tiles=12
  socsim list platforms                what ships
  socsim show platform jetson-agx-orin what is inside, and where it comes from

`socsim COMMAND --help` explains a command.
Exit codes: 0 done, 1 the run failed, 2 the input is wrong."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; `argv` without the program's name. Returns the exit code."""
    _make_output_robust()
    try:
        code = _run(list(sys.argv[1:] if argv is None else argv))
        _flush()
    except SystemExit as end:  # argparse, after --help and --version
        return end.code if isinstance(end.code, int) else 0
    except KeyboardInterrupt:
        _complain("interrupted")
        return 1
    except BrokenPipeError:
        return _broken_pipe()
    except _reported() as error:
        return _failed(error)
    return code


def _run(argv: list[str]) -> int:
    command = _chosen(argv)
    parser, own = build_parser(command)
    if command is None:
        parser.parse_args(argv)
        parser.print_help(sys.stderr)
        return 2
    own.refuse_unknown_options(argv[argv.index(command.name) + 1 :])
    options: Namespace = parser.parse_args(argv)
    return int(command_module(command).run(options))


def build_parser(command: Command | None) -> tuple[ArgumentParser, CommandParser]:
    """The parser with every command's name and the options of one; and the parser of that one."""
    usage = "socsim [--help] [--version] COMMAND ..."
    parser = CommandParser(prog="socsim", usage=usage, description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("--version", action="version", version=f"socsim {__version__}")
    listing = "\n".join(f"{known.name:12}{known.help}" for known in available())
    commands = parser.add_subparsers(
        title="commands", description=listing, prog="socsim", metavar="COMMAND", help=SUPPRESS,
        parser_class=CommandParser,
    )  # fmt: skip
    chosen = parser
    for known in available():
        own = commands.add_parser(known.name, description=f"{known.help[:1].upper()}{known.help[1:]}.")
        if known is command:
            chosen = own
            command_module(known).configure(own)
            common_options(own)
    return parser, chosen


def command_module(command: Command) -> ModuleType:
    """The module of a command: `configure(parser)` adds its options, `run(options)` does it."""
    return import_module(command.module)


def _chosen(argv: list[str]) -> Command | None:
    """The command that `argv` names, None where it names none; InputError with the nearest for an unknown one."""
    word = next((argument for argument in argv if not argument.startswith("-")), None)
    commands = {command.name: command for command in available()}
    if word is None or word in commands:
        return commands.get(word or "")
    from dataclasses import replace

    from socsim.errors import InputError, unknown_name

    raise InputError(replace(unknown_name("command", word, commands), file="socsim"))


def _reported() -> tuple[type[Exception], ...]:
    """The errors that are told in a sentence; evaluated only when there is one."""
    from socsim.errors import SocsimError

    return (SocsimError, OSError)


def _failed(error: Exception) -> int:
    """Tell what went wrong; what stands in it is escaped already, or is here."""
    from socsim.errors import InputError, SocsimError, printable

    if isinstance(error, InputError):
        print(error, file=sys.stderr)  # file:line:column first, where editors look for it
        return error.exit_code
    _complain(str(error) if isinstance(error, SocsimError) else printable(str(error)))
    try:
        sys.stdout.flush()
    except OSError:
        _drop_output()
    return 1


def _flush() -> None:
    """What was written goes out; an error names standard output."""
    try:
        sys.stdout.flush()
    except OSError as error:
        error.filename = "standard output"
        raise


def _complain(message: str) -> None:
    print(f"socsim: {message}", file=sys.stderr)


def _broken_pipe() -> int:
    """The reader of standard output has gone (`socsim trace chat-1k | head`): stop, and say nothing about it."""
    _drop_output()
    return 1


def _drop_output() -> None:
    """What is left in the buffer cannot be written: do not try again when the interpreter ends."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _make_output_robust() -> None:
    """A terminal that cannot show a character gets its escape; a stream that is closed takes what nobody reads."""
    if sys.stdout is None or sys.stderr is None:
        from os import devnull

        nobody = open(devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123  (open as long as the process)
        sys.stdout, sys.stderr = sys.stdout or nobody, sys.stderr or nobody
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


__all__ = ["COMMANDS", "actions_of", "build_parser", "command_module", "main"]
