"""The KV cache of one layer: how many positions it holds, in which format, and what one more token does to it.

Everything here is a function of the number of tokens so far; nothing remembers earlier steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from socsim.workload.deployment import Activations, Eviction, KvCache
from socsim.workload.formats import SCALE_BITS, NumberFormat, number_format
from socsim.workload.schemes import WIDE, WIDE_BYTES

ZERO_POINT_BITS = 16  # an integer KV group carries an FP16 zero point beside its FP16 scale


@dataclass(frozen=True, slots=True)
class KvScheme:
    """How K and V are stored.

    `grouped`: integer groups with scale and zero point, the newest tokens in FP16 until a group is full. Otherwise
    each token is stored as it comes (or converted: FP8, block formats), which costs no group and keeps no window.
    """

    format: str
    grouped: bool
    key_per_channel: bool
    value_per_channel: bool
    group_size: int
    recent_tokens: int

    @property
    def token_step(self) -> int:
        """Tokens that are quantized at a time: a whole group where scales run along the tokens, else one."""
        return self.group_size if self.key_per_channel or self.value_per_channel else 1

    def quantized(self, tokens: int) -> int:
        """How many of the oldest of `tokens` tokens are stored in groups."""
        if not self.grouped:
            return tokens
        step = self.token_step
        return max(0, tokens - self.recent_tokens) // step * step


def kv_scheme(cache: KvCache, activations: Activations) -> KvScheme:
    """The scheme of a deployment.

    Integer formats are grouped, unless the activations already come in that format by static scales: then the cache
    stores them as they are (W8A8KV8: one byte per element). FP16 and other floats and block formats ignore grouping.
    """
    as_they_come = activations.quantization != "dynamic" and activations.format == cache.format
    integer = number_format(cache.format).integer and number_format(cache.format).kind == "int"
    return KvScheme(
        cache.format,
        integer and not as_they_come,
        cache.grouping in ("hybrid", "channel"),
        cache.grouping == "channel",
        cache.group_size,
        cache.recent_tokens,
    )


class Span(NamedTuple):
    """What one pass attends over in one layer, per sequence and query head; `_pairs` count (row, position) pairs."""

    positions: int  # KV positions that the pass reads, its own and padding included
    real_positions: int  # of those, tokens
    pairs: int  # the full square: rows x positions
    masked_pairs: int  # hidden by the causal mask or the window
    padding_pairs: int  # of the full square, beyond the real rows and tokens


@dataclass(frozen=True, slots=True)
class LayerCache:
    """The KV cache of one layer of one sequence."""

    scheme: KvScheme
    heads: int
    key_width: int  # elements of K per token and head; with MLA the latent vector and the rotary key
    value_width: int  # elements of V per token and head; with MLA 0, the latent vector serves both
    window: int | None = None  # sliding window in tokens
    budget: int | None = None  # positions that stay after eviction
    prompt: int = 0  # tokens of the prompt, cached ones included
    static_prompt: int | None = None  # positions that a static graph reserves for the prompt
    static_response: int = 0  # and for the response

    @property
    def token_elements(self) -> int:
        """Elements that one token leaves."""
        return self.heads * (self.key_width + self.value_width)

    def kept(self, tokens: int) -> int:
        """Positions held in decode once `tokens` tokens have been seen, this step's included."""
        if self.budget is not None:
            evicted = max(0, self.prompt - self.budget)
            tokens = tokens - evicted if self.static_prompt is not None else min(self.budget, tokens)
        return _at_most(tokens, self.window)

    def attended(self, tokens: int) -> int:
        """Positions that a decode step attends over: those kept, or all that a static graph reserves."""
        return self.kept(tokens) if self.static_prompt is None else max(self.kept(tokens), self.reserved)

    @property
    def reserved(self) -> int:
        """Positions of a static decode graph: the prompt (its budget after eviction) and the response."""
        return _at_most(_at_most(self.static_prompt or 0, self.budget) + self.static_response, self.window)

    @property
    def evicts(self) -> bool:
        """Whether the end of prefill removes positions of the prompt."""
        return self.budget is not None and self.budget < _at_most(self.prompt, self.window)

    def prefill_span(self, past: int, rows: int, real_rows: int) -> Span:
        """A prefill chunk of `rows` rows (`real_rows` of them tokens) after `past` tokens."""
        positions = _chunk_positions(past, rows, self.window)
        real = _chunk_positions(past, real_rows, self.window)
        square = rows * positions
        masked = square - visible_pairs(past, rows, self.window)
        return Span(positions, real, square, masked, square - real_rows * real)

    def decode_span(self, past: int, rows: int) -> Span:
        """A decode step (one row), or a verification of several drafted rows, after `past` tokens."""
        real, positions = self.kept(past + rows), self.attended(past + rows)
        return Span(positions, real, rows * positions, rows * (rows - 1) // 2, rows * (positions - real))

    def bytes_of(self, elements: int, positions: int, tokens: int, per_channel: bool) -> int:
        """Bytes of K or V (`elements` per token and head) at `positions` positions, `tokens` tokens having been seen.

        Tokens that wait for their group are FP16; padding is stored in the cache's own format.
        """
        waiting = min(positions, tokens - self.scheme.quantized(tokens))
        return self.heads * (
            self.grouped_bytes(elements, positions - waiting, per_channel) + elements * waiting * WIDE_BYTES
        )

    def grouped_bytes(self, elements: int, positions: int, per_channel: bool) -> int:
        """Bytes of one head's K or V at `positions` positions in the cache's own format, scales included."""
        number = number_format(self.scheme.format)
        if not self.scheme.grouped:
            return positions * _row_bytes(number, elements)
        groups = _groups(elements, positions, self.scheme.group_size, per_channel)
        bits = elements * positions * number.element_bits + groups * (SCALE_BITS + ZERO_POINT_BITS)
        return ceil(bits / 8)

    def key_bytes(self, positions: int, tokens: int) -> int:
        """Bytes of K at `positions` positions."""
        return self.bytes_of(self.key_width, positions, tokens, self.scheme.key_per_channel)

    def value_bytes(self, positions: int, tokens: int) -> int:
        """Bytes of V at `positions` positions."""
        return self.bytes_of(self.value_width, positions, tokens, self.scheme.value_per_channel)

    def latent_bytes(self, elements: int, positions: int, tokens: int) -> int:
        """Bytes of the latent part (`elements` per token) of what MLA stores as K, at `positions` positions."""
        return self.bytes_of(elements, positions, tokens, self.scheme.key_per_channel)

    def update(self, past: int, rows: int) -> Update:
        """What storing `rows` tokens after `past` tokens writes, and which groups it fills."""
        before, after = self.scheme.quantized(past), self.scheme.quantized(past + rows)
        filled = after - before
        appended = rows if not self.scheme.grouped else past + rows - max(past, after)
        own = _row_bytes(number_format(self.append_format), self.key_width)
        own += _row_bytes(number_format(self.append_format), self.value_width)
        return Update(
            self.heads * appended * own,
            filled if self.scheme.grouped else 0,
            self.token_elements * WIDE_BYTES * max(0, min(after, past) - before),
            self.heads * self._filled_bytes(filled),
        )

    @property
    def append_format(self) -> str:
        """The format in which a new token is appended."""
        return WIDE if self.scheme.grouped else self.scheme.format

    def _filled_bytes(self, tokens: int) -> int:
        if not self.scheme.grouped:
            return 0
        keys = self.grouped_bytes(self.key_width, tokens, self.scheme.key_per_channel)
        return keys + self.grouped_bytes(self.value_width, tokens, self.scheme.value_per_channel)


class Update(NamedTuple):
    """What storing new tokens does to the cache of one sequence in one layer."""

    append_bytes: int  # written for the new tokens
    filled_tokens: int  # tokens whose groups are full now
    filled_read_bytes: int  # of those, what is read back in FP16 (new ones come straight from their projection)
    filled_write_bytes: int  # their groups, scales and zero points included


def visible_pairs(past: int, rows: int, window: int | None) -> int:
    """(row, position) pairs that a causal mask shows: the sum over the rows of min(window, past + row + 1)."""
    growing = rows if window is None else min(rows, max(0, window - past))
    return growing * past + growing * (growing + 1) // 2 + (rows - growing) * (window or 0)


def layer_budgets(eviction: Eviction, layers: int) -> tuple[int, ...]:
    """Positions kept per layer; the mean is `budget` but for a list.

    Head-heavy: the first half of the layers keeps 3/2 of it, the last half 1/2 (an odd middle layer keeps it whole);
    tail-heavy the reverse. The studies that introduced this keep two levels as well.
    """
    if isinstance(eviction.distribution, list):
        return tuple(eviction.distribution)
    if eviction.distribution == "uniform":
        return (eviction.budget,) * layers
    delta = eviction.budget // 2
    first, half = (delta if eviction.distribution == "head_heavy" else -delta), layers // 2
    middle = (eviction.budget,) * (layers - 2 * half)
    return (eviction.budget + first,) * half + middle + (eviction.budget - first,) * half


def _chunk_positions(past: int, rows: int, window: int | None) -> int:
    if rows == 0:
        return 0
    return past + rows if window is None else min(past + rows, window - 1 + rows)


def _at_most(count: int, bound: int | None) -> int:
    return count if bound is None else min(count, bound)


def _row_bytes(number: NumberFormat, elements: int) -> int:
    if number.block_size:
        elements = ceil(elements / number.block_size) * number.block_size
    return ceil(elements * number.bits / 8)


def _groups(elements: int, positions: int, size: int, per_channel: bool) -> int:
    return elements * ceil(positions / size) if per_channel else positions * ceil(elements / size)
