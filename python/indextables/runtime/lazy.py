"""Values that are computed when they are first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class lazy(Generic[T]):  # noqa: N801 (a decorator, as `property` is)
    """A property that is computed once per object.

    Unlike `functools.cached_property` before Python 3.12, it takes no lock, which all objects of
    a class would share: queries of other threads would wait, and taking it costs more than most
    values do. Two threads may compute a value at once; equal objects have equal values.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self.make, self.__doc__ = make, make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...

    def __get__(self, instance: object | None, owner: type | None = None) -> Self | T:
        if instance is None:
            return self
        # later uses find the value in the object before they look for this property
        value = instance.__dict__[self._name] = self.make(instance)
        return value
