"""Names for the things a user can choose: device types, number formats, governors, panels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from socsim.errors import InputError, unknown_name

T = TypeVar("T")


class Registry(Generic[T]):
    """Things of one kind by name, in the order they were added.

    `kind` is the word for one of them in messages: "governor", "number format".
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._things: dict[str, T] = {}

    def add(self, name: str, thing: T) -> T:
        """Add `thing` under `name` and return it; ValueError if the name is taken."""
        if name in self._things:
            raise ValueError(f"{self.kind} {name!r} is registered twice")
        self._things[name] = thing
        return thing

    def register(self, name: str) -> Callable[[T], T]:
        """A decorator that adds what it decorates under `name`."""
        return lambda thing: self.add(name, thing)

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in the order they were added."""
        return tuple(self._things)

    def __getitem__(self, name: str) -> T:
        """The thing called `name`; InputError with the choices and the nearest if there is none."""
        if name not in self._things:
            raise InputError(unknown_name(self.kind, name, self.names))
        return self._things[name]

    def __contains__(self, name: object) -> bool:
        return name in self._things

    def __iter__(self) -> Iterator[str]:
        return iter(self._things)

    def __len__(self) -> int:
        return len(self._things)
