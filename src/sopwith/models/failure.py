"""What went wrong with a model or its endpoint, in our words and with a remedy."""

from __future__ import annotations

from typing import Any, cast

from sopwith.errors import ModelError, Text
from sopwith.ir.cut import cut
from sopwith.models.redirect import left_for

_LONGEST = 300
_PAYMENT_REQUIRED = 402
_TOO_LONG = (
    "context_length",
    "context length",
    "context size",
    "context window",
    "exceed_context",
    "prompt is too long",
)

_REMEDIES = {
    "url": Text(
        "check the URL: it usually ends in /v1, and the server must be running",
        "请检查 URL：通常以 /v1 结尾，且服务须在运行",
    ),
    "key": Text(
        "check the key in SOPWITH_API_KEY or OPENAI_API_KEY",
        "请检查 SOPWITH_API_KEY 或 OPENAI_API_KEY 中的密钥",
    ),
    "anthropic key": Text("check the key in ANTHROPIC_API_KEY", "请检查 ANTHROPIC_API_KEY 中的密钥"),
    "base url": Text(
        "check the URL (without /v1); the server must be running", "请检查 URL（不带 /v1）；服务须在运行"
    ),
    "refusal": Text(
        "change what the step asks, or give the step another model", "请修改该步骤的要求，或为其换用其他模型"
    ),
    "model": Text(
        "check the model's name; the endpoint does not know it", "请检查模型名称；该接口没有此模型"
    ),
    "later": Text(
        "the endpoint is busy or out of order; resume the run later",
        "接口繁忙或故障；请稍后恢复运行",
    ),
    "limit": Text(
        "the account's rate or quota is used up; wait, or raise the limit",
        "账户的速率或额度已用尽；请等待或提高上限",
    ),
    "request": Text(
        "the endpoint refused the request; try another `mode`, or another model",
        "接口拒绝了请求；请尝试其他 `mode` 或其他模型",
    ),
}


def remedy(name: str) -> Text:
    """One of the remedies."""
    return _REMEDIES[name]


def is_too_long(said: str) -> bool:
    """Whether an endpoint's words mean that the prompt does not fit."""
    return any(words in said.lower() for words in _TOO_LONG)


def what_it_said(error: Any) -> str:
    """The endpoint's own words in an error of an SDK."""
    body = getattr(error, "body", None)
    if isinstance(body, dict):
        told = cast("dict[str, Any]", body)
        inner = told.get("error")
        if isinstance(inner, dict):
            told = cast("dict[str, Any]", inner)
        if isinstance(said := told.get("message"), str):
            return said
    return str(getattr(error, "message", error)).strip() or type(error).__name__


def model_error(sdk: Any, error: Any, model: str, *, key: str = "key", url: str = "url") -> ModelError:
    """An error of `sdk` (`openai`, `anthropic`) as a `ModelError`: unreachable, refused, unknown, too long, busy.

    `key` and `url` name the remedies for a wrong key and a wrong URL.
    """
    elsewhere = left_for(error, model)
    if elsewhere is not None:
        return elsewhere
    said = what_it_said(error)
    said = cut(said, _LONGEST)
    if is_too_long(said) or getattr(error, "code", None) == "context_length_exceeded":
        return context_exceeded(model, None, None)
    if isinstance(error, sdk.APIConnectionError):
        cause = f" ({error.__cause__})" if error.__cause__ else ""
        return ModelError(
            Text(f"{model} cannot be reached: {said}{cause}", f"无法连接 {model}：{said}{cause}"),
            remedy(url),
        )
    status = getattr(error, "status_code", None)
    kinds = (
        (sdk.AuthenticationError, key),
        (sdk.PermissionDeniedError, key),
        (sdk.NotFoundError, "model"),
        (sdk.RateLimitError, "limit"),
        (sdk.InternalServerError, "later"),
        (sdk.APIResponseValidationError, url),
    )
    kind = next((name for type_, name in kinds if isinstance(error, type_)), "request")
    if status == _PAYMENT_REQUIRED:
        kind = "limit"
    number = f" {status}" if status else ""
    return ModelError(
        Text(f"{model} answered with error{number}: {said}", f"{model} 返回错误{number}：{said}"),
        remedy(kind),
    )


def context_exceeded(model: str, needed: int | None, allowed: int | None) -> ModelError:
    """The error for a prompt that is longer than the model's context (in tokens, where they are known)."""
    en = f" ({needed} tokens, {allowed} fit)" if needed and allowed else ""
    zh = f"（{needed} 个 token，最多 {allowed} 个）" if needed and allowed else ""
    return ModelError(
        Text(f"the prompt is longer than the context of {model}{en}", f"提示超出 {model} 的上下文长度{zh}"),
        Text(
            "show the step fewer names (`uses`), shorten its inputs, or give the model a larger context",
            "减少该步骤可见的名称（`uses`）、缩短输入，或增大模型的上下文",
        ),
        code="SW081",
    )


def package_missing(package: str, extra: str) -> ModelError:
    """The error for an optional package that is not installed."""
    return ModelError(
        Text(f"the package {package} is not installed", f"未安装 {package} 包"),
        Text(f'install it: pip install "sopwith[{extra}]"', f'请安装：pip install "sopwith[{extra}]"'),
        code="SW082",
    )
