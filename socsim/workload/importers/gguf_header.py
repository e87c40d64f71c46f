"""The header of a GGUF file: its metadata and what it says about each tensor. The weights themselves are never read.

Layout (ggml docs/gguf.md): magic, version, tensor count, metadata count; the metadata as key, type, value; the
tensors as name, dimensions, type, offset; then, aligned, the data. All numbers are little-endian. A header comes from
anywhere, so every count and length in it is checked against the file before it is believed.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import prod
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Final

from socsim.errors import InputError, Problem, file_problem
from socsim.workload.importers.ggml_types import GGML_TYPES, GgmlType

Scalar = int | float | bool | str
Value = Scalar | tuple[Scalar, ...]

_MAGIC: Final = b"GGUF"
_VERSIONS: Final = (2, 3)
_FIXED_BYTES: Final = 24  # magic, version, two counts
_ALIGNMENT: Final = "general.alignment"
_DEFAULT_ALIGNMENT: Final = 32

# Far above any model: what is larger is a broken file, not work to do
_MOST_KEYS, _MOST_TENSORS, _MOST_DIMENSIONS, _MOST_ELEMENTS = 1 << 16, 1 << 17, 4, 1 << 48
_MOST_TEXTS = 1 << 22  # entries of a list of texts, which has to be walked: vocabularies have up to 2^18 tokens
_LONGEST_NAME = 1 << 16
_LONGEST_TEXT = 1 << 16  # longer texts are tokenizers: skipped
_LONGEST_LIST = 1 << 14  # numbers per layer are kept; longer lists belong to the tokenizer: skipped

_TEXT, _LIST = 8, 9
_NUMBERS: Final[Mapping[int, struct.Struct]] = {
    kind: struct.Struct(f"<{code}")
    for kind, code in zip((0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12), "BbHhIif?Qqd", strict=True)
}
_U32, _U64 = _NUMBERS[4], _NUMBERS[10]


@dataclass(frozen=True, slots=True)
class GgufTensor:
    """What the header says about one tensor."""

    name: str  # "blk.0.attn_q.weight"
    shape: tuple[int, ...]  # elements per dimension, the densest first: (input channels, output channels, experts)
    type_id: int  # ggml's number for the storage format
    offset: int  # of its data, from the start of the data section

    @property
    def elements(self) -> int:
        """How many elements it has."""
        return prod(self.shape)

    @property
    def type(self) -> GgmlType | None:
        """The storage format, None if ggml's number is not known."""
        return GGML_TYPES.get(self.type_id)

    @property
    def size_bytes(self) -> int | None:
        """Bytes of its data, None if the storage format is not known."""
        return None if self.type is None else self.elements // self.type.block * self.type.block_bytes


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """Metadata and tensors of one file. Lists of texts, long lists and very long texts are left out of the metadata."""

    file: str
    metadata: Mapping[str, Value]
    tensors: tuple[GgufTensor, ...]


def read_header(path: str | Path) -> GgufHeader:
    """The header of the file at `path`; its data may be missing or cut off.

    Raises `InputError` with file, offset and expectation for whatever is no GGUF file of version 2 or 3.
    """
    try:
        with Path(path).open("rb") as file:
            size = file.seek(0, 2)
            if size < _FIXED_BYTES:
                raise InputError(file_problem(path, f"is too short for GGUF ({size} bytes)", "a GGUF file"))
            with mmap(file.fileno(), 0, access=ACCESS_READ) as content:
                return _header(_Cursor(content, str(path)))
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(file_problem(path, f"cannot be read: {reason.lower()}", "a GGUF file")) from None


class _Cursor:
    """A position in the file that only moves forward; reading past the end is an error with the offset."""

    def __init__(self, content: mmap, file: str) -> None:
        self.content, self.file, self.position = content, file, 0
        self.size = len(content)

    def wrong(self, message: str, expected: str, at: int | None = None) -> InputError:
        offset = self.position if at is None else at
        return InputError(Problem(f"offset {offset}: {message}", file=self.file, expected=expected))

    def number(self, layout: struct.Struct, what: str) -> int | float | bool:
        """The number here; any layout but that of floats and truth values gives a whole one."""
        end = self.position + layout.size
        if end > self.size:
            raise self.wrong(f"the file ends within {what}", f"{layout.size} bytes")
        found: int | float | bool = layout.unpack_from(self.content, self.position)[0]
        self.position = end
        return found

    def count(self, layout: struct.Struct, what: str, most: int, each_bytes: int = 0) -> int:
        """A whole number that is at most `most`; so many things of `each_bytes` must be left in the file."""
        start = self.position
        found = int(self.number(layout, what))
        limit = min(most, (self.size - self.position) // each_bytes) if each_bytes else most
        if found > limit:
            raise self.wrong(f"{what} is {found}", f"at most {limit}", start)
        return found

    def text(self, what: str) -> str:
        """A text with its length before it."""
        return self._decoded(self.count(_U64, f"the length of {what}", _LONGEST_NAME, each_bytes=1), what)

    def short_text(self, what: str) -> str | None:
        """A text, or None (and past it) if it is a long one."""
        length = self.count(_U64, f"the length of {what}", self.size, each_bytes=1)
        if length <= _LONGEST_TEXT:
            return self._decoded(length, what)
        self.skip(length)
        return None

    def _decoded(self, length: int, what: str) -> str:
        start = self.position
        self.position += length
        try:
            return self.content[start : self.position].decode()
        except UnicodeDecodeError as error:
            raise self.wrong(f"{what} is not UTF-8", "UTF-8", start + error.start) from None

    def skip(self, length: int) -> None:
        """Past `length` bytes."""
        if length > self.size - self.position:
            raise self.wrong("the file ends within a value", f"{length} bytes")
        self.position += length

    def skip_texts(self, count: int) -> None:
        """Past `count` texts: in a vocabulary hundreds of thousands, so this loop does nothing else."""
        position, length_at, content = self.position, _U64.unpack_from, self.content
        try:
            for _ in range(count):
                position += length_at(content, position)[0] + 8
        except (struct.error, OverflowError):
            raise self.wrong("the file ends within a list of texts", f"{count} texts") from None
        self.skip(position - self.position)


def _header(cursor: _Cursor) -> GgufHeader:
    keys, tensors = _opening(cursor)
    metadata = _metadata(cursor, keys)
    alignment = _alignment(cursor, metadata)
    listed = _tensors(cursor, tensors)
    _refuse_overlaps(cursor, listed, -(-cursor.position // alignment) * alignment)
    return GgufHeader(cursor.file, metadata, listed)


def _opening(cursor: _Cursor) -> tuple[int, int]:
    """(metadata entries, tensors), after magic and version."""
    magic = cursor.content[: len(_MAGIC)]
    if magic != _MAGIC:
        raise cursor.wrong(f"begins with {magic!r}", f"{_MAGIC!r}, a GGUF file")
    cursor.skip(len(_MAGIC))
    start = cursor.position
    version = int(cursor.number(_U32, "the version"))
    if int.from_bytes(version.to_bytes(4, "little"), "big") in _VERSIONS:
        raise cursor.wrong("the file is big-endian", "a little-endian file", start)
    if version not in _VERSIONS:
        raise cursor.wrong(f"GGUF version {version}", "version 2 or 3", start)
    # the shortest tensor: name length, no dimension, type, offset; the shortest entry: key length, type, one byte
    tensors = cursor.count(_U64, "the number of tensors", _MOST_TENSORS, each_bytes=24)
    return cursor.count(_U64, "the number of metadata entries", _MOST_KEYS, each_bytes=13), tensors


# --- metadata --------------------------------------------------------------------------------------------------------


def _metadata(cursor: _Cursor, count: int) -> dict[str, Value]:
    metadata: dict[str, Value] = {}
    known: set[str] = set()
    for _ in range(count):
        start = cursor.position
        key = cursor.text("a metadata key")
        if key in known:
            raise cursor.wrong(f"the metadata key {key} stands twice", "each key once", start)
        known.add(key)
        value = _value(cursor, key)
        if value is not None:
            metadata[key] = value
    return metadata


def _value(cursor: _Cursor, key: str) -> Value | None:
    """The value here, None if it is one of those that are skipped."""
    start = cursor.position
    kind = int(cursor.number(_U32, f"the type of {key}"))
    if kind == _LIST:
        return _list(cursor, key)
    if kind == _TEXT:
        return cursor.short_text(key)
    return cursor.number(_layout(cursor, kind, key, start), key)


def _list(cursor: _Cursor, key: str) -> tuple[Scalar, ...] | None:
    start = cursor.position
    kind = int(cursor.number(_U32, f"the type of the entries of {key}"))
    if kind == _LIST:
        raise cursor.wrong(f"{key} is a list of lists", "a list of numbers or texts", start)
    if kind == _TEXT:
        cursor.skip_texts(cursor.count(_U64, f"the length of {key}", _MOST_TEXTS, each_bytes=8))
        return None
    layout = _layout(cursor, kind, key, start)
    count = cursor.count(_U64, f"the length of {key}", cursor.size, each_bytes=layout.size)
    if count > _LONGEST_LIST:
        cursor.skip(count * layout.size)
        return None
    return tuple(cursor.number(layout, key) for _ in range(count))


def _layout(cursor: _Cursor, kind: int, key: str, start: int) -> struct.Struct:
    if kind not in _NUMBERS:
        raise cursor.wrong(f"{key} has the unknown value type {kind}", "a type from 0 to 12", start)
    return _NUMBERS[kind]


def _alignment(cursor: _Cursor, metadata: Mapping[str, Value]) -> int:
    alignment = metadata.get(_ALIGNMENT, _DEFAULT_ALIGNMENT)
    if not isinstance(alignment, int) or not 1 <= alignment <= 1 << 20 or alignment & (alignment - 1):
        value, expected = str(alignment), "a power of two"
        raise InputError(Problem("is no alignment", cursor.file, path=_ALIGNMENT, value=value, expected=expected))
    return alignment


# --- tensors ---------------------------------------------------------------------------------------------------------


def _tensors(cursor: _Cursor, count: int) -> tuple[GgufTensor, ...]:
    tensors: dict[str, GgufTensor] = {}
    for _ in range(count):
        start = cursor.position
        tensor = _tensor(cursor)
        if tensor.name in tensors:
            raise cursor.wrong(f"the tensor {tensor.name} stands twice", "each tensor once", start)
        tensors[tensor.name] = tensor
    return tuple(tensors.values())


def _tensor(cursor: _Cursor) -> GgufTensor:
    name = cursor.text("a tensor name")
    start = cursor.position
    dimensions = cursor.count(_U32, f"the number of dimensions of {name}", _MOST_DIMENSIONS)
    size = partial(cursor.count, _U64, f"a dimension of {name}", _MOST_ELEMENTS)
    shape = tuple(size() for _ in range(dimensions))
    if not 1 <= prod(shape) <= _MOST_ELEMENTS:
        raise cursor.wrong(f"{name} has the dimensions {list(shape)}", f"1 to {_MOST_ELEMENTS} elements", start)
    type_id, offset = int(cursor.number(_U32, f"the type of {name}")), int(cursor.number(_U64, f"the offset of {name}"))
    tensor = GgufTensor(name, shape, type_id, offset)
    if tensor.type and (shape[0] if shape else 1) % tensor.type.block:
        message = f"{name} has rows of {shape[0] if shape else 1} elements in {tensor.type.name}"
        raise cursor.wrong(message, f"a multiple of {tensor.type.block}", start)
    return tensor


def _refuse_overlaps(cursor: _Cursor, tensors: tuple[GgufTensor, ...], data_start: int) -> None:
    """Two tensors in the same place; where the data is left out, offsets mean nothing."""
    if cursor.size <= data_start:
        return
    ordered = sorted(tensors, key=lambda tensor: tensor.offset)
    for tensor, following in pairwise(ordered):
        end = tensor.offset + (tensor.size_bytes or 0)
        if end > following.offset:
            message = f"{following.name} begins within {tensor.name}"
            raise cursor.wrong(message, f"its data from {end} on", data_start + following.offset)
