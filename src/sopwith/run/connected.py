"""The models that are connected to an engine, by the names that procedures use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sopwith.errors import Text, UserError
from sopwith.models.port import Model


@dataclass(frozen=True, slots=True)
class ConnectedModels:
    """The model of steps that name none, and those with a name."""

    default: Model | None
    named: Mapping[str, Model]

    def __iter__(self) -> Iterator[Model]:
        if self.default is not None:
            yield self.default
        yield from self.named.values()

    @property
    def id(self) -> str:
        """The id of the default model, as a run is pinned to it."""
        return "none" if self.default is None else self.default.id

    def of(self, name: str | None) -> Model:
        """The model that a step names. Raises `UserError` where none is connected."""
        model = self.named.get(name, self.default) if name is not None else self.default
        if model is None:
            raise UserError(
                Text("this step needs a model, and none is connected", "该步骤需要模型，但没有连接模型"),
                Text('pass `model="local"` or another', '请传入 model="local" 或其他模型'),
            )
        return model


def connected(name: str) -> Model:
    """The model of a name for `connect`."""
    from sopwith.models.connect import connect  # a model that is passed needs none of its makers

    return connect(name)
