"""Is a GGUF header read quickly, and is a broken or hostile one refused at once, with the place?

The files are written by hand, byte by byte, so that they can be wrong in every way.
"""

import struct
from collections.abc import Iterable
from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from socsim.errors import InputError
from socsim.workload.importers.gguf import architecture_from_gguf
from socsim.workload.importers.gguf_header import read_header

U32, I32, F32, BOOL, TEXT, LIST, U64 = 4, 5, 6, 7, 8, 9, 10


def text(value: str | bytes) -> bytes:
    content = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(content)) + content


def entry(key: str | bytes, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def tensor(name: str | bytes, shape: Iterable[int], kind: int = 1, offset: int = 0) -> bytes:
    sizes = tuple(shape)
    dimensions = struct.pack(f"<I{len(sizes)}Q", len(sizes), *sizes)
    return text(name) + dimensions + struct.pack("<IQ", kind, offset)


def file_bytes(
    entries: list[bytes], tensors: list[bytes] | None = None, magic: bytes = b"GGUF", version: int = 3, **counts: int
) -> bytes:
    infos = tensors or []
    opening = struct.pack("<IQQ", version, counts.get("listed", len(infos)), counts.get("keys", len(entries)))
    return magic + opening + b"".join(entries) + b"".join(infos)


ARCH = entry("general.architecture", TEXT, text("llama"))


def written(tmp_path: Path, content: bytes) -> Path:
    file = tmp_path / "model.gguf"
    file.write_bytes(content)
    return file


# --- what is read ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [2, 3])
def test_all_value_types(version: int, tmp_path: Path):
    numbers = [("B", 200), ("b", -3), ("H", 60_000), ("h", -9), ("I", 1 << 31), ("i", -7), ("f", 0.5), ("?", True)]
    numbers += [("Q", 1 << 40), ("q", -(1 << 40)), ("d", 0.1)]
    kinds = (0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12)
    entries = [
        entry(f"key.{kind}", kind, struct.pack(f"<{code}", value))
        for kind, (code, value) in zip(kinds, numbers, strict=True)
    ]
    entries.append(entry("some.list", LIST, struct.pack("<IQ2i", I32, 2, 4, -5)))
    entries.append(entry("some.texts", LIST, struct.pack("<IQ", TEXT, 2) + text("a") + text("")))
    content = file_bytes([ARCH, *entries], [tensor("x.weight", (64, 3))], version=version)
    header = read_header(written(tmp_path, content))
    expected = {f"key.{kind}": value for kind, (_, value) in zip(kinds, numbers, strict=True)}
    assert header.metadata == {"general.architecture": "llama", **expected, "some.list": (4, -5)}
    (only,) = header.tensors
    assert (only.name, only.shape, only.elements, only.size_bytes) == ("x.weight", (64, 3), 192, 384)


def test_a_large_vocabulary_is_skipped(tmp_path: Path):
    writer = gguf.GGUFWriter(tmp_path / "model.gguf", "llama")
    writer.add_token_list([f"token{number}" for number in range(128_256)])
    writer.add_token_scores([0.5] * 128_256)
    writer.add_token_merges([f"left right{number}" for number in range(280_147)])
    writer.add_chat_template("x" * 100_000)
    for number in range(291):
        writer.add_tensor_info(f"blk.{number}.x.weight", (4096, 4096), np.dtype(np.float16), 2 * 4096 * 4096)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    header = read_header(tmp_path / "model.gguf")
    assert len(header.tensors) == 291
    assert header.metadata == {"general.architecture": "llama"}


def test_data_is_not_needed_and_not_read(tmp_path: Path):
    content = file_bytes([ARCH], [tensor("a.weight", (1 << 20, 1 << 20)), tensor("b.weight", (32,), offset=1 << 41)])
    assert len(read_header(written(tmp_path, content)).tensors) == 2
    assert len(read_header(written(tmp_path, content + b"\0" * 5000)).tensors) == 2


# --- what is refused -------------------------------------------------------------------------------------------------

HUGE = (1 << 64) - 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "too short for GGUF"),
        (b"GGUF", "too short for GGUF"),
        (b"PK\3\4" + b"\0" * 40, "offset 0: begins with b'PK"),
        (file_bytes([ARCH], version=1), "offset 4: GGUF version 1; expected version 2 or 3"),
        (file_bytes([ARCH], version=4), "offset 4: GGUF version 4"),
        (file_bytes([ARCH], version=3 << 24), "offset 4: the file is big-endian"),
        (file_bytes([ARCH], keys=2), "offset 69: the file ends within the length of a metadata key"),
        (file_bytes([ARCH], keys=HUGE), "offset 16: the number of metadata entries is 18446744073709551615"),
        (file_bytes([ARCH], listed=HUGE), "offset 8: the number of tensors is 18446744073709551615; expected at most"),
        (file_bytes([ARCH], listed=1), "offset 69: the file ends within the length of a tensor name"),
        (file_bytes([ARCH, ARCH]), "offset 69: the metadata key general.architecture stands twice"),
        (file_bytes([entry(b"k\xff", U32, b"\1\0\0\0")]), "offset 33: a metadata key is not UTF-8"),
        (file_bytes([entry("k", TEXT, text(b"ab\xe9"))]), "offset 47: k is not UTF-8"),
        (file_bytes([entry("k", 13, b"\0" * 8)]), "k has the unknown value type 13"),
        (file_bytes([entry("k", TEXT, struct.pack("<Q", HUGE))]), "the length of k is 18446744073709551615"),
        (file_bytes([struct.pack("<Q", 1 << 20) + b"\0" * 40]), "the length of a metadata key is 1048576"),
        (file_bytes([entry("k", LIST, struct.pack("<IQ", U64, HUGE))]), "the length of k is 18446744073709551615"),
        (file_bytes([entry("k", LIST, struct.pack("<IQ", TEXT, HUGE))]), "the length of k is 18446744073709551615"),
        (file_bytes([entry("k", LIST, struct.pack("<IQ", TEXT, 1) + b"\xff" * 8)]), "ends within a value"),
        (file_bytes([entry("k", LIST, struct.pack("<IQQ", TEXT, 2, 1 << 63) + b"\0" * 16)]), "within a list of texts"),
        (file_bytes([entry("k", LIST, struct.pack("<IQ", LIST, 1) + b"\0" * 20)]), "list of lists"),
        (file_bytes([entry("k", LIST, struct.pack("<IQ", 99, 1) + b"\0" * 20)]), "unknown value type 99"),
        (file_bytes([entry("k", U32, b"\1\0")]), "the file ends within k; expected 4 bytes"),
        (file_bytes([entry("general.alignment", U32, b"\x21\0\0\0")]), "general.alignment: 33: is no alignment"),
        (file_bytes([entry("general.alignment", U32, b"\0\0\0\0")]), "expected a power of two"),
        (file_bytes([ARCH], [tensor("t", (2, 2)), tensor("t", (2, 2))]), "the tensor t stands twice"),
        (file_bytes([ARCH], [tensor(b"t\xc3", (2, 2))]), "a tensor name is not UTF-8"),
        (file_bytes([ARCH], [tensor("t", (2,) * 5)]), "the number of dimensions of t is 5; expected at most 4"),
        (file_bytes([ARCH], [tensor("t", (0, 2))]), r"t has the dimensions \[0, 2\]"),
        (file_bytes([ARCH], [tensor("t", (1 << 40, 1 << 40))]), "t has the dimensions"),
        (file_bytes([ARCH], [tensor("t", (HUGE,))]), "a dimension of t is 18446744073709551615"),
        (file_bytes([ARCH], [tensor("t", (100, 2), kind=12)]), "t has rows of 100 elements in q4_k.*a multiple of 256"),
        (file_bytes([ARCH], [tensor("t", ())]), "llama.block_count: is missing"),
        (
            file_bytes([ARCH], [tensor("a", (64,)), tensor("b", (64,), offset=96)]) + b"\0" * 999,
            r"offset \d+: b begins within a; expected its data from 128 on",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_broken_files(content: bytes, message: str, tmp_path: Path):
    file = written(tmp_path, content)
    with pytest.raises(InputError, match=message) as caught:
        architecture_from_gguf(file)
    assert caught.value.problems[0].file == str(file)


def test_a_list_that_would_take_minutes_is_refused(tmp_path: Path):
    """A sparse file of zeros: a billion empty texts that are all there."""
    file = written(tmp_path, file_bytes([entry("tokenizer.ggml.tokens", LIST, struct.pack("<IQ", TEXT, 1 << 30))]))
    with file.open("r+b") as opened:
        opened.truncate(9 << 30)
    with pytest.raises(
        InputError, match=r"the length of tokenizer.ggml.tokens is 1073741824; expected at most 4194304"
    ):
        read_header(file)


@pytest.mark.parametrize("name", ["missing.gguf", "."])
def test_files_that_cannot_be_read(name: str, tmp_path: Path):
    with pytest.raises(InputError, match="cannot be read"):
        read_header(tmp_path / name)


WHOLE = file_bytes(
    [
        ARCH,
        entry("llama.block_count", U32, b"\1\0\0\0"),
        entry("llama.list", LIST, struct.pack("<IQ3I", U32, 3, 1, 2, 3)),
        entry("tokenizer.ggml.tokens", LIST, struct.pack("<IQ", TEXT, 3) + text("a") + text("bc") + text("")),
    ],
    [tensor("token_embd.weight", (64, 10)), tensor("blk.0.attn_q.weight", (64, 64), offset=1280)],
)


def test_every_truncation_is_refused(tmp_path: Path):
    assert len(read_header(written(tmp_path, WHOLE)).tensors) == 2
    for length in range(len(WHOLE)):
        with pytest.raises(InputError):
            read_header(written(tmp_path, WHOLE[:length]))


PLACES = st.integers(0, len(WHOLE) - 8)


@given(at=PLACES, byte=st.integers(0, 255), word_at=PLACES, word=st.integers(0, HUGE))
def test_damage_is_refused_or_read_but_never_crashes(
    at: int, byte: int, word_at: int, word: int, tmp_path_factory: pytest.TempPathFactory
):
    content = bytearray(WHOLE)
    content[at] = byte
    content[word_at : word_at + 8] = word.to_bytes(8, "little")
    file = tmp_path_factory.getbasetemp() / "damaged.gguf"
    file.write_bytes(content)
    with pytest.raises(InputError):  # at the latest because the model is not whole
        architecture_from_gguf(file)
