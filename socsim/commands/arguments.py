"""Arguments of commands: parsers that fail with an `InputError`, words that suggest the nearest, shared options."""

from __future__ import annotations

from argparse import Action, ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

_OWN_WORDS = {"the following arguments are required": "missing"}


def _help(prog: str) -> RawDescriptionHelpFormatter:
    """Help with room for the longest command beside its text."""
    return RawDescriptionHelpFormatter(prog, max_help_position=28)


class CommandParser(ArgumentParser):
    """A parser that raises `InputError` instead of printing its usage, and abbreviates nothing."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"allow_abbrev": False, "formatter_class": _help, **settings})

    def error(self, message: str) -> NoReturn:
        """What argparse has to say, as wrong input."""
        from socsim.errors import InputError, Problem

        for theirs, ours in _OWN_WORDS.items():
            message = message.replace(theirs, ours)
        raise InputError(Problem(f"{message} (see `{self.prog} --help`)", file=self.prog))

    def refuse_unknown_options(self, arguments: Sequence[str]) -> None:
        """InputError for `--optoins` with the nearest there is; argparse would complain of something else first."""
        from dataclasses import replace

        from socsim.errors import InputError, unknown_name

        known = [word for action in actions_of(self) for word in action.option_strings]
        before_dashes = list(arguments)[: arguments.index("--")] if "--" in arguments else arguments
        words = [word.split("=")[0] for word in before_dashes if word.startswith("--")]
        unknown = [word for word in words if word not in known]
        if unknown:
            long = [word for word in known if word.startswith("--")]
            raise InputError(replace(unknown_name("option", word, long), file=self.prog) for word in unknown)


class OneOf:
    """One of a few words: the `type` of an argument."""

    def __init__(self, kind: str, words: Iterable[str]) -> None:
        self.kind = kind
        self.words = tuple(words)

    def __call__(self, text: str) -> str:
        """The word itself; an error with the choices and the nearest for any other."""
        if text in self.words:
            return text
        from socsim.errors import unknown_name

        raise ArgumentTypeError(str(unknown_name(self.kind, text, self.words)))

    def __str__(self) -> str:
        return "|".join(self.words)


class Named:
    """A file, or the name of a shipped one: the `type` of an argument; `kind` is what `socsim list` calls them."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __call__(self, text: str) -> str:
        """The text as it stands; an empty one names nothing."""
        if not text.strip():
            raise ArgumentTypeError("an empty name")
        return text


def whole_number(text: str) -> int:
    """The `type` of a count or seed: 0, 1, 2, ..."""
    if not text.isdecimal() or len(text) > 18:
        raise ArgumentTypeError(f"{text!r} is no whole number from 0 on")
    return int(text)


def path_name(text: str) -> str:
    """The `type` of a file or folder to write."""
    if not text.strip():
        raise ArgumentTypeError("an empty name")
    return text


def comma_separated(text: str) -> list[str]:
    """The `type` of a list of words: "npu,gpu"."""
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise ArgumentTypeError(f"{text!r} leaves a name empty; expected names such as npu,gpu")
    return list(dict.fromkeys(words))


def choice(parser: ArgumentParser, *flags: str, kind: str, words: Sequence[str], text: str) -> None:
    """Add an argument that takes one of `words`; an option's default is the first of them."""
    one_of = OneOf(kind, words)
    settings: dict[str, Any] = {"default": words[0]} if flags[0].startswith("-") else {}
    parser.add_argument(*flags, type=one_of, metavar=str(one_of), help=text, **settings)


def subject_options(parser: ArgumentParser, *, devices: str, change: str) -> None:
    """The platform, the workload, the devices and the changed values; `devices` and `change` say what they do."""
    add = parser.add_argument
    add("platform", type=Named("platforms"), metavar="PLATFORM", help="a shipped name or a YAML file")
    add("-w", "--workload", type=Named("workloads"), metavar="WORKLOAD",
        help="a shipped name, a YAML file or an operator table; default: the platform's")  # fmt: skip
    add("-d", "--devices", type=comma_separated, metavar="DEV[,DEV...]", action="extend", help=devices)
    add("--set", action="append", default=[], metavar="PATH=VALUE", dest="overrides", help=change)


def json_option(parser: ArgumentParser) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output, nothing else")


def common_options(parser: ArgumentParser) -> None:
    """Add what every command takes."""
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress, no remarks; only results and errors")


def actions_of(parser: ArgumentParser) -> list[Action]:
    """The arguments of a parser, in order; argparse has no public way to ask."""
    return list(parser._actions)
