"""Reference pages that cannot go stale: YAML keys from the specs, options from the parsers.

`{socsim-keys} platform` writes a section for every mapping of a kind of file, with a table of its keys;
`{socsim-commands}` one for every command.
"""

from argparse import SUPPRESS, Action, ArgumentParser
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from socsim.cli import actions_of, build_parser
from socsim.commands import available
from socsim.commands.schema import SPECS
from socsim.schema.field_docs import docs_of_all
from socsim.units import DIMENSIONS
from socsim.workload.formats import FORMATS

Schema = dict[str, Any]
MANY = 12
"""A choice of more words than this is a list of number formats, which has its own command."""


class KeysDirective(SphinxDirective):
    """The keys of a kind of file: `platform`, `workload`, `runtime` or `study`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The sections."""
        module, name = SPECS[self.arguments[0]]
        model = getattr(import_module(module), name)
        return self.parse_text_to_nodes(keys_text(model), allow_section_headings=True)


class CommandsDirective(SphinxDirective):
    """Usage, arguments and options of every command."""

    def run(self) -> list[nodes.Node]:
        """The sections."""
        text = "\n".join(command_text(command.name) for command in available())
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def keys_text(model: Any) -> str:
    """A section per mapping, the outermost first."""
    schema = model.model_json_schema()
    known = {model.__name__: schema, **schema.get("$defs", {})}
    docs = docs_of_all(model)
    texts = [mapping_text(places, known, name, docs.get(name, {})) for name, places in places_of(schema, known)]
    return "\n".join(texts)


def places_of(root: Schema, known: dict[str, Schema]) -> Iterator[tuple[str, list[str]]]:
    """(name of a spec, the paths at which it stands), in the order in which a reader of the file meets them."""
    found: dict[str, list[str]] = {root["title"]: [""]}
    waiting = [root["title"]]
    while waiting:
        name = waiting.pop(0)
        yield name, found[name]
        inner: list[str] = []
        for key, value in known[name].get("properties", {}).items():
            for target, suffix in references(value):
                path = ".".join(filter(None, (found[name][0], key + suffix)))
                if target not in found:
                    inner.append(target)
                found.setdefault(target, []).append(path)
        waiting = inner + waiting


def references(schema: Schema, suffix: str = "") -> Iterator[tuple[str, str]]:
    """(name of a spec, what follows the key) for every spec that a value may be."""
    if "$ref" in schema:
        yield schema["$ref"].rsplit("/", 1)[-1], suffix
    for member in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from references(member, suffix)
    if isinstance(schema.get("items"), dict):
        yield from references(schema["items"], suffix + "[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from references(schema["additionalProperties"], suffix + ".<name>")


def mapping_text(places: Sequence[str], known: dict[str, Schema], name: str, docs: dict[str, str]) -> str:
    """Heading, description and table of one mapping."""
    schema = known[name]
    own = schema.get("properties", {})
    title = f"`{places[0]}`" if places[0] else "The file"
    if "const" in own.get("type", {}):
        title += f" of type `{own['type']['const']}`"
    lines = [f"## {title}", "", one_line(schema.get("description", "")), ""]
    if len(places) > 1:
        lines += ["Also at " + ", ".join(f"`{place}`" for place in places[1:]) + ".", ""]
    if own:
        lines += ["| key | takes | default | meaning |", "|---|---|---|---|"]
        said = {key: docs.get(key) or part_doc(value, known) for key, value in own.items()}
        lines += [key_row(key, value, key in schema.get("required", ()), said[key]) for key, value in own.items()]
    return "\n".join([*lines, ""])


def part_doc(schema: Schema, known: dict[str, Schema]) -> str:
    """The first sentence about the part that a key holds, where the key itself says nothing."""
    parts = {name for name, _ in references(schema)}
    text = known[parts.pop()].get("description", "") if len(parts) == 1 else ""
    return one_line(text).split(". ")[0].rstrip(".") + "." if text else ""


def key_row(key: str, schema: Schema, required: bool, doc: str) -> str:
    """One key."""
    default = "required" if required else default_text(schema)
    return f"| `{key}` | {cell(takes(schema))} | {default} | {cell(one_line(doc))} |"


def default_text(schema: Schema) -> str:
    """What holds where the key is left out; nothing where that is an empty part."""
    value = schema.get("default")
    if value is None or isinstance(value, dict | list):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`" if value != "" else ""


def takes(schema: Schema) -> str:
    """The values that a key takes, in words."""
    members = (*schema.get("anyOf", ()), *schema.get("oneOf", ()))
    quantity = quantity_text(schema)
    if quantity:
        return quantity
    if members:
        return " or ".join(dict.fromkeys(takes(member) for member in members if member.get("type") != "null"))
    if "$ref" in schema:
        return "a mapping"
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return choices_text(schema["enum"])
    return plain_text(schema)


def quantity_text(schema: Schema) -> str:
    """ "a bandwidth, `136.5 GB/s`", or nothing for what is no quantity."""
    for known in DIMENSIONS.values():
        if known.bare and schema.get("examples") == [0.8, "80 %"] and known.name == "fraction":
            return "a fraction, `0.8` or `80 %`" if "maximum" in str(schema) else "a ratio, `1.5` or `150 %`"
        if schema.get("examples") == [known.example]:
            return f"{known.noun}, `{known.example}`"
    return ""


def choices_text(words: Sequence[Any]) -> str:
    """The choices; number formats are too many to repeat at every key."""
    if len(words) > MANY and set(words) >= set(FORMATS):
        return "a number format, see `socsim list formats`"
    return ", ".join(f"`{word}`" for word in words)


def plain_text(schema: Schema) -> str:
    """A scalar, list or mapping."""
    kind = schema.get("type")
    if kind == "array":
        return f"a list of: {takes(schema['items'])}" if isinstance(schema.get("items"), dict) else "a list"
    if kind == "object":
        inner = schema.get("additionalProperties")
        names = schema.get("propertyNames", {}).get("enum")
        of = f" from {choices_text(names)}" if names else ""
        return f"a mapping{of} to: {takes(inner)}" if isinstance(inner, dict) else "a mapping"
    names = {"integer": "a whole number", "number": "a number", "boolean": "`true` or `false`", "string": "text"}
    return names.get(str(kind), "any value") + bounds_text(schema)


def bounds_text(schema: Schema) -> str:
    """ ", from 1", ", above 0, up to 1"."""
    words = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "up to", "exclusiveMaximum": "below"}
    return "".join(f", {word} {schema[key]}" for key, word in words.items() if key in schema)


def command_text(name: str) -> str:
    """Heading, usage and arguments of one command."""
    command = next(known for known in available() if known.name == name)
    parser = parser_of(name)
    lines = [f"## socsim {name}", "", f"{command.help[:1].upper()}{command.help[1:]}.", ""]
    lines += ["```text", parser.format_usage().strip(), "```", ""]
    shown = [action for action in actions_of(parser) if action.help != SUPPRESS]
    lines += ["| argument | meaning |", "|---|---|", *(argument_row(action) for action in shown)]
    return "\n".join([*lines, ""])


def parser_of(name: str) -> ArgumentParser:
    """The parser of a command."""
    command = next(known for known in available() if known.name == name)
    return build_parser(command)[1]


def argument_row(action: Action) -> str:
    """One argument."""
    value = str(action.metavar or "") if action.nargs != 0 else ""
    names = ", ".join(f"`{option} {value}`" if value else f"`{option}`" for option in action.option_strings)
    return f"| {cell(names or f'`{value or action.dest}`')} | {cell(one_line(action.help or ''))} |"


def one_line(text: str) -> str:
    """Paragraphs as one line."""
    return " ".join(text.split())


def cell(text: str) -> str:
    """Text inside a table: a bar would end its cell."""
    return text.replace("|", "\\|")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("socsim-keys", KeysDirective)
    app.add_directive("socsim-commands", CommandsDirective)
    return {"parallel_read_safe": True}
