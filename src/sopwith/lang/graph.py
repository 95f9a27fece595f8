"""The graph of a procedure's steps: who follows whom, in which order, and who lies on a cycle. Linear, no
recursion."""

from __future__ import annotations

from dataclasses import dataclass

from sopwith.ir.procedure import Procedure


@dataclass(frozen=True, slots=True)
class Graph:
    """Steps by their ids.

    `successors` are distinct and in the order of the edges (`next`, then `on_error`), steps that do not exist
    left out. `order` holds every step once, each after those that lead forward to it; what the start does not
    reach comes last. `back` are the edges that close a cycle. `cyclic` are the steps that can come to
    themselves again.
    """

    successors: dict[str, tuple[str, ...]]
    order: tuple[str, ...]
    roots: tuple[str, ...]
    back: frozenset[tuple[str, str]]
    cyclic: frozenset[str]


def graph(procedure: Procedure) -> Graph:
    """The graph of `procedure`."""
    steps = procedure.steps
    successors = {
        name: tuple(dict.fromkeys(e.to for e in (*step.next, *step.on_error) if e.to in steps))
        for name, step in steps.items()
    }
    roots: list[str] = []
    order: list[str] = []
    back: set[tuple[str, str]] = set()
    state: dict[str, bool] = {}
    for root in (procedure.start, *steps):
        if root in steps and root not in state:
            roots.append(root)
            order += reversed(_postorder(root, successors, state, back))
    return Graph(successors, tuple(order), tuple(roots), frozenset(back), _cyclic(successors))


def _postorder(
    root: str, successors: dict[str, tuple[str, ...]], state: dict[str, bool], back: set[tuple[str, str]]
) -> list[str]:
    """The steps first reached from `root`, each after those it leads to. `state` is True for finished steps.

    Successors are visited last edge first, so that in the reversed order the first edge comes first.
    """
    finished: list[str] = []
    state[root] = False
    stack = [(root, reversed(successors[root]))]
    while stack:
        step, rest = stack[-1]
        for to in rest:
            if to not in state:
                state[to] = False
                stack.append((to, reversed(successors[to])))
                break
            if not state[to]:
                back.add((step, to))
        else:
            stack.pop()
            state[step] = True
            finished.append(step)
    return finished


def _cyclic(successors: dict[str, tuple[str, ...]]) -> frozenset[str]:
    """The steps in a strongly connected component with an edge inside it (Tarjan 1972, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    open_: dict[str, None] = {}
    found: set[str] = set()
    for root in successors:
        if root in index:
            continue
        index[root] = low[root] = len(index)
        open_[root] = None
        stack = [(root, iter(successors[root]))]
        while stack:
            step, rest = stack[-1]
            for to in rest:
                if to not in index:
                    index[to] = low[to] = len(index)
                    open_[to] = None
                    stack.append((to, iter(successors[to])))
                    break
                if to in open_:
                    low[step] = min(low[step], index[to])
            else:
                stack.pop()
                if stack:
                    parent = stack[-1][0]
                    low[parent] = min(low[parent], low[step])
                if low[step] == index[step]:
                    _close(step, open_, successors, found)
    return frozenset(found)


def _close(
    head: str, open_: dict[str, None], successors: dict[str, tuple[str, ...]], found: set[str]
) -> None:
    """Take the component of `head` off the open steps; its members are cyclic if it has an edge inside."""
    members: list[str] = []
    while not members or members[-1] != head:
        members.append(open_.popitem()[0])
    if len(members) > 1 or head in successors[head]:
        found.update(members)
