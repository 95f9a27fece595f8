"""The models that are connected to an engine: by the names that procedures use, and by what they do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from sopwith.errors import Text, UserError
from sopwith.ir.diagnostic import Place
from sopwith.ir.event import Purpose
from sopwith.ir.procedure import Procedure
from sopwith.models.port import Model
from sopwith.models.profile import PLAIN, Profiles, Shape

ROLES = ("execute", "judge", "answer", "guide")
"""What models do: fill arguments and values, choose among labels, write the answer, give advice."""

_ROLE_OF: Mapping[Purpose, str] = MappingProxyType({"judge": "judge", "answer": "answer"})

Where = Callable[[str], Place]
"""The place of a step or of its `model`, or with "" of the procedure's own."""


def role_of(purpose: Purpose, *, choice: bool) -> str:
    """The role that a model has when it is asked for `purpose`; `choice`: it is to choose one of some labels."""
    return "judge" if choice else _ROLE_OF.get(purpose, "execute")


@dataclass(frozen=True, slots=True)
class ConnectedModels:
    """The default model, and those with a name, which may be a role."""

    default: Model | None
    named: Mapping[str, Model]
    profiles: Profiles = field(default_factory=Profiles)
    own: tuple[Model, ...] = ()
    """Those that were connected here, by their names: they are closed here."""

    @classmethod
    def of_given(
        cls,
        default: Model | str | None,
        named: Mapping[str, Model | str] | None,
        profiles: Profiles | None = None,
    ) -> ConnectedModels:
        """What was given: models, or names for `connect`. Raises what that does."""
        given = named or {}
        texts = dict.fromkeys(each for each in (default, *given.values()) if isinstance(each, str))
        known = Profiles() if profiles is None else profiles
        own = {text: connected(text, known) for text in texts}
        models = {name: own[each] if isinstance(each, str) else each for name, each in given.items()}
        first = own[default] if isinstance(default, str) else default
        return cls(first, models, known, tuple(own.values()))

    async def close(self) -> None:
        """Close those that were connected here; one that was passed is its maker's."""
        for model in self.own:
            await model.close()

    def __iter__(self) -> Iterator[Model]:
        if self.default is not None:
            yield self.default
        yield from self.named.values()

    @property
    def id(self) -> str:
        """The id of the default model, as a run is pinned to it."""
        return "none" if self.default is None else self.default.id

    @property
    def ids(self) -> dict[str, str]:
        """The ids of the models with a name."""
        return {name: self.named[name].id for name in sorted(self.named)}

    def of(self, name: str | None, role: str) -> Model:
        """The model that a step names by its name or a role; else that of `role`; else the default.

        Raises `UserError` where none is connected.
        """
        return self.hold_role(name, role)

    def hold_role(self, name: str | None, role: str, where: str = "") -> Model:
        """The same; an error begins with the place `where`."""
        self.hold(name, where)
        wanted = name or role
        model = self.named.get(wanted, self.default)
        if model is None:
            raise UserError(
                Text(
                    f"{where}this step needs a model for '{wanted}', and none is connected",
                    f"{where}该步骤需要担任“{wanted}”的模型，但没有连接模型",
                ),
                Text(
                    f"connect one: `[models] {wanted} = …`, or `model = …` for all, in sopwith.toml; "
                    f'--model {wanted}=SPEC; or `models={{"{wanted}": …}}` or `model="local"` in Python',
                    f"连接方式：sopwith.toml 中写 `[models] {wanted} = …`，或以 `model = …` 供所有角色使用；"
                    f'--model {wanted}=SPEC；或 Python 中的 models={{"{wanted}": …}}、model="local"',
                ),
            )
        return model

    def shape(self, name: str | None, role: str) -> Shape:
        """How the model of a name and a role is shown a procedure."""
        model = self.named.get(name or role, self.default)
        return PLAIN if model is None else self.profiles.of(model.id).shape

    @property
    def shapes(self) -> frozenset[Shape]:
        """How any of the models is shown a procedure."""
        return frozenset(self.profiles.of(model.id).shape for model in self)

    def hold(self, name: str | None, where: str = "") -> None:
        """Raise `UserError` for a `name` that is neither a role nor that of a connected model."""
        if name is None or name in ROLES or name in self.named:
            return
        listed = ", ".join(dict.fromkeys((*ROLES, *self.named)))
        raise UserError(
            Text(
                f"{where}no model is connected as '{name}'",
                f"{where}没有以“{name}”为名连接的模型",
            ),
            Text(
                f"known: {listed}; connect one: `[models] {name} = …` in sopwith.toml, --model {name}=SPEC, "
                "or `models=` in Python",
                f"可用：{listed}；连接方式：sopwith.toml 中写 `[models] {name} = …`、--model {name}=SPEC，"
                "或 Python 中的 models=",
            ),
        )


def hold_to_models(models: ConnectedModels, procedure: Procedure, where: Where | None = None) -> None:
    """Refuse to run a procedure with a step whose model nobody has connected. Raises `UserError` that names the step,
    and its place `where` that is known."""
    if models.default is None and not models.named:
        return  # what needs a model says so when it comes to that
    wanted = [("", procedure.model), *((name, step.model) for name, step in procedure.steps.items())]
    for step, name in wanted:
        if name is None:
            continue
        head = "" if where is None else f"{where(step)}: "
        models.hold(name, head + (f"steps.{step}.model: " if step else "model: "))


def connected(name: str, profiles: Profiles) -> Model:
    """The model of a name for `connect`."""
    from sopwith.models.connect import connect  # a model that is passed needs none of its makers

    return connect(name, profiles)
