"""Read a Hugging Face `config.json` into an `Architecture`, or say everything that is wrong with it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from socsim.errors import InputError, Problem, file_problem, raise_all, unknown_name
from socsim.workload.architecture import Architecture, Block
from socsim.workload.importers.hf_families import FAMILIES, Family
from socsim.workload.importers.hf_keys import Values, checked_values, key_problems, value_problem

_MAX_FILE_BYTES = 16 << 20  # real config files take a few kB


def load_config(path: str | Path) -> Architecture:
    """The model that the config file at `path` describes, named after the file (or its directory, for `config.json`).

    Raises `InputError` with file, line, key and expectation for whatever is missing, illegal or inconsistent.
    """
    file = Path(path)
    text = _read_text(file)
    config = _parsed_object(text, str(file))
    try:
        return architecture_from_config(config, _model_name(file), str(file))
    except InputError as error:
        raise InputError([_with_line(problem, text) for problem in error.problems]) from None


def architecture_from_config(config: Mapping[str, object], name: str, file: str) -> Architecture:
    """The model that an already parsed config describes; `file` is named in errors."""
    try:
        return _architecture(config, name)
    except InputError as error:
        raise InputError([replace(problem, file=problem.file or file) for problem in error.problems]) from None


def supported_architectures() -> tuple[str, ...]:
    """The Hugging Face classes that can be read, sorted."""
    return tuple(sorted(family.classes[0] for family in FAMILIES))


def _architecture(config: Mapping[str, object], name: str) -> Architecture:
    prefix, part = _language_part(config)
    family = _family_of(config)
    part = _with_rotary_factor(part)
    problems = key_problems(part, family.required, family.defaults)
    raise_all(_prefixed(problems, prefix))
    values = checked_values(part, family.required, family.defaults)
    raise_all(_prefixed(list(_inconsistencies(values)), prefix))
    return _assembled(family, values, family.parse(values), name)


def _assembled(family: Family, values: Values, blocks: tuple[Block, ...], name: str) -> Architecture:
    last = blocks[-1]
    return Architecture(
        name=name,
        family=family.classes[0],
        hidden=values.count("hidden_size"),
        vocabulary=values.count(family.vocabulary_key),
        max_context=values.count(family.context_key),
        blocks=blocks,
        tied_embeddings=values.flag("tie_word_embeddings"),
        head_bias=family.head_bias,
        final_norm=last.norm,
        final_norm_bias=last.norm_bias,
        logit_softcap=values.given("final_logit_softcapping"),
    )


# --- which family ----------------------------------------------------------------------------------------------------


def _language_part(config: Mapping[str, object]) -> tuple[str, Mapping[str, object]]:
    """The config of the language model and its path: multimodal configs keep it in `text_config`."""
    part = config.get("text_config")
    if part is None:
        return "", config
    if not isinstance(part, Mapping):
        raise InputError(value_problem("text_config", part, "is no config", "an object"))
    return "text_config", part


def _with_rotary_factor(part: Mapping[str, object]) -> Mapping[str, object]:
    """Transformers 5 writes `partial_rotary_factor` into `rope_parameters`; lift it to where older files have it."""
    rope = part.get("rope_parameters")
    factor = rope.get("partial_rotary_factor") if isinstance(rope, Mapping) else None
    return part if factor is None or "partial_rotary_factor" in part else {**part, "partial_rotary_factor": factor}


def _prefixed(problems: list[Problem], prefix: str) -> list[Problem]:
    return [replace(p, path=f"{prefix}.{p.path}") for p in problems] if prefix else problems


def _family_of(config: Mapping[str, object]) -> Family:
    """By `architectures[0]`, or by `model_type` in a config without."""
    key = "architectures" if config.get("architectures") is not None else "model_type"
    word = _named_class(config["architectures"]) if key == "architectures" else config.get("model_type")
    if not isinstance(word, str):
        raise InputError(_no_family_problem(key, config))
    for family in FAMILIES:
        if word in (family.classes if key == "architectures" else family.model_types):
            return family
    raise InputError(_unknown_family(key, word))


def _named_class(architectures: object) -> object:
    return architectures[0] if isinstance(architectures, list) and architectures else None


def _no_family_problem(key: str, config: Mapping[str, object]) -> Problem:
    if key in config:
        return value_problem(key, config[key], "does not name the model class", 'a list such as ["LlamaForCausalLM"]')
    expected = 'a list such as ["LlamaForCausalLM"]'
    return Problem("is missing, so the model class is unknown", path="architectures", expected=expected)


def _unknown_family(key: str, word: str) -> Problem:
    by_class = key == "architectures"
    names = [name for family in FAMILIES for name in (family.classes if by_class else family.model_types)]
    kind = "model architecture" if by_class else "model type"
    return replace(unknown_name(kind, word, sorted(names)), path="architectures[0]" if by_class else key)


# --- do the sizes fit together ---------------------------------------------------------------------------------------


def _inconsistencies(values: Values) -> Iterator[Problem]:
    for rule in _RULES:
        yield from rule(values)


def _heads_divide_hidden(values: Values) -> Iterator[Problem]:
    if any(values.given(key) for key in ("head_dim", "kv_channels", "v_head_dim")):
        return
    hidden, heads = values.count("hidden_size"), values.count("num_attention_heads")
    if hidden % heads:
        message = f"{heads} heads do not divide hidden_size {hidden}, and the file gives no head_dim"
        yield value_problem("num_attention_heads", heads, message)


def _kv_heads_divide_heads(values: Values) -> Iterator[Problem]:
    heads = values.count("num_attention_heads")
    for key in ("num_key_value_heads", "multi_query_group_num"):
        if values.given(key) and heads % values.count(key):
            yield value_problem(key, values.count(key), "does not divide num_attention_heads", f"a divisor of {heads}")


def _experts_suffice(values: Values) -> Iterator[Problem]:
    for key in ("num_local_experts", "num_experts", "n_routed_experts"):
        if values.given(key) and values.count("num_experts_per_tok") > values.count(key):
            chosen, experts = values.count("num_experts_per_tok"), values.count(key)
            yield value_problem("num_experts_per_tok", chosen, f"more experts than {key}", f"at most {experts}")


def _layer_lists_fit(values: Values) -> Iterator[Problem]:
    types = values.names("layer_types")
    layers = values.optional("num_hidden_layers") or 0
    if types is not None and len(types) != layers:
        yield Problem(f"has {len(types)} entries for {layers} layers", path="layer_types", expected=f"{layers} entries")


def _dense_layers_fit(values: Values) -> Iterator[Problem]:
    dense = values.optional("first_k_dense_replace") or 0
    layers = values.optional("num_hidden_layers") or dense
    if dense > layers:
        yield value_problem("first_k_dense_replace", dense, "more dense layers than layers", f"at most {layers}")


_RULES: tuple[Callable[[Values], Iterator[Problem]], ...] = (
    _heads_divide_hidden,
    _kv_heads_divide_heads,
    _experts_suffice,
    _layer_lists_fit,
    _dense_layers_fit,
)


# --- the file --------------------------------------------------------------------------------------------------------


def _model_name(file: Path) -> str:
    return file.resolve().parent.name if file.name == "config.json" else file.stem


def _read_text(file: Path) -> str:
    try:
        if file.stat().st_size > _MAX_FILE_BYTES:
            raise InputError(file_problem(file, "is too large for a config", f"at most {_MAX_FILE_BYTES} bytes"))
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(file_problem(file, "is not text", "a Hugging Face config.json in UTF-8")) from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(file_problem(file, f"cannot be read: {reason}", "a Hugging Face config.json")) from None


def _parsed_object(text: str, file: str) -> Mapping[str, object]:
    try:
        parsed = json.loads(text, object_pairs_hook=_unique_keys)
    except json.JSONDecodeError as error:
        raise InputError(_syntax_problem(error, text, file)) from None
    except InputError as error:
        raise InputError([replace(_with_line(p, text, last=True), file=file) for p in error.problems]) from None
    except (RecursionError, ValueError):  # absurd nesting, numbers of thousands of digits
        raise InputError(file_problem(file, "is not a config", "a Hugging Face config.json")) from None
    if not isinstance(parsed, dict):
        raise InputError(file_problem(file, "holds no JSON object", "a Hugging Face config.json"))
    return parsed


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    unique = dict(pairs)
    if len(unique) < len(pairs):
        names = [key for key, _ in pairs]
        repeated = sorted({key for key in names if names.count(key) > 1})
        raise InputError([Problem("stands twice in the same object", path=key) for key in repeated])
    return unique


def _syntax_problem(error: json.JSONDecodeError, text: str, file: str) -> Problem:
    message = f"is not valid JSON: {error.msg[:1].lower()}{error.msg[1:]}"
    snippet = _line(text, error.lineno)
    return Problem(message, file=file, line=error.lineno, column=error.colno, snippet=snippet, expected="a JSON object")


def _with_line(problem: Problem, text: str, last: bool = False) -> Problem:
    """The problem with the line that holds its key; a missing key has none."""
    key = re.split(r"[.\[]", problem.path.removeprefix("text_config."))[0]
    found = list(re.finditer(rf'"{re.escape(key)}"\s*:', text))
    if not key or not found:
        return problem
    start = found[-1 if last or problem.path.startswith("text_config.") else 0].start()
    line = text.count("\n", 0, start) + 1
    column = start - (text.rfind("\n", 0, start) + 1) + 1
    return replace(problem, line=line, column=column, snippet=_line(text, line))


def _line(text: str, number: int) -> str:
    lines = text.splitlines()
    return lines[number - 1] if number <= len(lines) else ""
