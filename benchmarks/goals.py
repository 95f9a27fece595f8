"""The goals that measures are held against. A goal stays when it is missed: the report says so."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound of a measure: at least, at most, or exactly (both)."""

    at_least: float | None = None
    at_most: float | None = None

    def met(self, value: float) -> bool:
        """Whether `value` is within the bounds."""
        above = self.at_least is None or value >= self.at_least
        return above and (self.at_most is None or value <= self.at_most)

    def __str__(self) -> str:
        if self.at_least is not None and self.at_least == self.at_most:
            return f"= {self.at_least:g}"
        return f"≥ {self.at_least:g}" if self.at_least is not None else f"≤ {self.at_most:g}"


NONE = Goal(at_least=0, at_most=0)

# The ratios of CPU are those of sides that commit at every step alike; batched ones have other names, and no goal.
GOALS: dict[str, Goal] = {
    "category_accuracy_strict": Goal(at_least=0.85),
    "outcome_accuracy_strict": Goal(at_least=0.80),
    "needless_escalation": Goal(at_most=0.10),
    "path_compliance_strict": Goal(at_least=1, at_most=1),
    "cpu_times_less_than_langgraph_sqlite": Goal(at_least=8),
    "cpu_times_bare_loop": Goal(at_most=8),
    "bytes_per_step_200_over_20": Goal(at_most=1.2),
    "import_ms": Goal(at_most=300),
    "kills": Goal(at_least=1_000),
    "kills_in_window": Goal(at_least=300),
    "effects_lost": NONE,
    "effects_twice": NONE,
    "unknown_unhandled": NONE,
    "needless_unknown": NONE,
    "naive_effects_twice": Goal(at_least=1),
    "appends_lost": NONE,
    "lock_errors": NONE,
    "driven_twice": NONE,
    "guards_cpu_ratio": Goal(at_most=2),
    "worst_return_s": Goal(at_most=2),
    "processes_left": NONE,
    "next_step_works": Goal(at_least=1, at_most=1),
    "fuzz_crashes": NONE,
    "refused_arguments_called": NONE,
    "silent_empty_arguments": NONE,
    "prompt_token_saving": Goal(at_least=0.80),
    "prefix_edits": NONE,
    "uncached_tokens_per_step_strict": Goal(at_most=120),
    "ndcg10_livemcp": Goal(at_least=0.45),
    "ndcg10_sealtools": Goal(at_least=0.90),
    "ndcg10_metatool_single": Goal(at_least=0.65),
    "ndcg10_metatool_two": Goal(at_least=0.60),
    "ndcg10_zh": Goal(at_least=0.85),
    "right_pick_rate": Goal(at_least=0.90),
    "false_pick_rate": Goal(at_most=0.05),
    "p99_ms_lexical_10k": Goal(at_most=15),
    "p99_ms_hybrid_10k": Goal(at_most=60),
    "build_s_lexical_10k": Goal(at_most=30),
    "roundtrip_losses": NONE,
    "crashes": NONE,
    "unsound": NONE,
    "procedures_run": Goal(at_least=2_000),
    "rules_missed": NONE,
    "rules_blurred": NONE,
    "check_ms_1000_steps": Goal(at_most=500),
    "compile_ms_1000_steps": Goal(at_most=500),
    "show_s_1000_steps": Goal(at_most=5),
    "check_growth_10x": Goal(at_most=13),
    "tokens_for_5mb_result": Goal(at_most=400),
    "same_bytes_of_5mb_result": Goal(at_least=1, at_most=1),
}
