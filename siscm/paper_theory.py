"""The paper's theory, item by item (Sections 1 to 6, Appendices A and B): where each is redone."""

from __future__ import annotations

from collections.abc import Iterable

from siscm.pages import benchmark
from siscm.paper import CHECKED, REDRAWN, Contents, Item, Number, Seed, near
from siscm.statements import GUMBEL, SECTIONS, SILENT, SIMILAR, STATEMENTS, WOULD

GROUPS, ALGORITHM, FIRST = "06_finding_groups", "08_algorithm_1", "01_second_opinion"

_STATED = {
    SILENT: (
        "set-invariance",
        (Seed("models", "default_rng(1)"),),
        ("prop:set invariant", "thm:SCMsetinvariant", "thm:SCMequivalence"),
    ),
    WOULD: (
        "asking-more-experts-changes-no-distribution",
        (Seed("models", "default_rng(2)"),),
        ("thm:equalprop", "cor:equalprop_h", "cor:equalcounterfactuals"),
    ),
    SIMILAR: (
        "when-are-two-experts-alike",
        tuple(Seed("models", f"default_rng({n})") for n in (42, 43, 44, 45, 46)),
        (
            *("def:counterfactual-stability", "thm:pcs_equivalence"),
            *("def:pcs_def", "cor:pcs_equivalence"),
        ),
    ),
    GUMBEL: ("definition", (Seed("models", "default_rng(5)"),), ("thm:gumbel",)),
}
"""Of each chapter with statements: heading of the first, seeds, labels in the paper's source."""


def _statements() -> Iterable[Item]:
    for chapter, (anchor, seeds, labels) in _STATED.items():
        here = [one for one in STATEMENTS if one.chapter == chapter]
        yield Item(
            name=" · ".join(one.check.__name__.replace("_", " ").capitalize() for one in here),
            section=f"Section {SECTIONS[chapter]}, Appendix A",
            what="; ".join(one.name for one in here) + ".",
            chapter=chapter,
            anchor=anchor,
            functions=tuple(f"theorems.{one.check.__name__}" for one in here),
            source="models",
            seeds=seeds,
            labels=labels,
            plain=CHECKED,
            why="Each statement, its check and where the check is seen to fail: "
            "[all statements](statements.md).",
        )


def _run_time(contents: Contents) -> Iterable[Number]:
    """The paper's O(|E|), by what the search looks at and by what it takes."""
    synthetic, found = contents["synthetic"], benchmark("algorithm1")["figures"]
    paper = synthetic["paper"]["claim"]["exponent_of_edges_in_run_time"]
    tolerance = synthetic["judged_by"]["exponent_of_edges_in_run_time"]["absolute"]
    words = {
        "sparse_looked_exponent": "candidates looked at, sparse graphs",
        "complete_looked_exponent": "candidates looked at, complete graphs",
        "sparse_search_seconds_exponent": "seconds of the search, sparse graphs",
        "complete_search_seconds_exponent_last": "seconds of the search, largest complete graphs",
        "sparse_seconds_exponent": "seconds with the matrices around it, sparse graphs",
    }
    for key, name in words.items():
        yield near(f"power of the edges: {name}", paper, found[key], tolerance, 2)


_EQUATIONS = (
    Item(
        "Equations of an SCM",
        "Section 2",
        "Assignments, equivalent models, interventions and counterfactuals.",
        SILENT,
        "structural-causal-models-on-one-page",
        ("scm.FiniteSCM", "scm.interventional", "scm.counterfactual", "properties.equivalence"),
        "example",
        plain=CHECKED,
    ),
    Item(
        "Equation 1",
        "Section 2",
        "The Gumbel-Max SCM: the label with the largest sum of log-probability and noise.",
        GUMBEL,
        "checked-habits-stay-what-they-were",
        ("gumbel.sample_noise", "theorems.definition_5"),
        "models",
        (Seed("models", "default_rng(5)"),),
        ("eq:gumbelscm",),
        plain=CHECKED,
    ),
    Item(
        "Equation 2",
        "Section 3",
        "Features, experts asked and opinions as an SCM.",
        SILENT,
        "structural-causal-models-on-one-page",
        ("scm.FiniteSCM", "scm.FiniteSCM.from_mechanism"),
        "example",
        labels=("eq:scm",),
        plain=CHECKED,
    ),
    Item(
        "Equation 3",
        "Section 4",
        "What another says if both were asked is what she would have said.",
        WOULD,
        "two-questions",
        ("scm.conditional", "scm.counterfactual", "theorems.corollary_2"),
        "models",
        (Seed("models", "default_rng(2)"),),
        ("eq:samedistr_example",),
        plain=CHECKED,
    ),
    Item(
        "Equation 4",
        "Section 5",
        "The condition of conditional stability; an opinion pair that contradicts it is a "
        "violation.",
        GROUPS,
        "violations",
        ("properties.conditional_stability", "violations.violates"),
        "example",
        labels=("eq:conditional-stability",),
        plain=CHECKED,
        why="Tested as a sum of logarithms; the released code compares products "
        "([differences](differences.md)).",
    ),
    Item(
        "Equation 5",
        "Section 6",
        "The counterfactual distribution, estimated from draws of the posterior noise.",
        GUMBEL,
        "checked-against-simulation",
        ("gumbel.counterfactual_probabilities", "gumbel.monte_carlo_probabilities"),
        "example",
        (Seed("one pair", "default_rng(1)"), Seed("500 pairs", "default_rng(2)")),
        ("eq:cfc_distr_estimator",),
        plain=CHECKED,
        why="Computed in closed form everywhere; the paper's estimator is the check.",
    ),
    Item(
        "Equations 6 and 7",
        "Section 6",
        "The partition with the best fit, as a clique partitioning problem, and the weights of "
        "its graph.",
        ALGORITHM,
        "the-best-partition-with-proof",
        ("graph.SimilarityGraph", "partition.objective", "partition.exact"),
        "synthetic",
        (Seed("experts", "default_rng(1)"), Seed("who is asked", "default_rng(2)")),
        ("eq:optproblem", "eq:optproblem_graph"),
        plain=CHECKED,
        why="In the objective the model without sharing has to be one noise for each expert "
        "([differences](differences.md)).",
    ),
    Item(
        "Equations 8 to 11",
        "Appendix A",
        "Steps of the proofs of Theorem 2, Corollary 2 and Theorem 4.",
        SIMILAR,
        "without-talk-the-two-are-one",
        ("theorems.theorem_2", "theorems.corollary_2", "theorems.theorem_4"),
        "models",
        (Seed("models", "default_rng(44)"),),
        ("eq:cprop", "eq:equivalence1", "eq:equivalence2"),
        plain=CHECKED,
        why="What they lead to is checked, not each step.",
    ),
)

_FIGURES = (
    Item(
        "Figure 1",
        "Section 1",
        "Doctors grade concussions: a training table with gaps, and the use case.",
        FIRST,
        "a-table-with-gaps",
        ("opinions.Opinions.from_wide", "model.GumbelMaxSISCM.second_opinions"),
        "example",
        labels=("fig:intro_example",),
        plain=REDRAWN,
        why="The paper's text does not hold the entries of its table; these are made up. Six "
        "patients are too few to learn from, so the use case is shown on a panel.",
    ),
    Item(
        "Example of three treatments",
        "Section 5",
        "Surgery, radiation, chemotherapy: what a similar doctor would have said.",
        SIMILAR,
        "surgery-radiation-chemotherapy",
        ("random_scms.same_group", "scm.abduction", "scm.action", "scm.prediction"),
        "example",
        plain=CHECKED,
        why="The paper gives no probabilities; those of the chapter are made up.",
    ),
    Item(
        "Figure 2",
        "Section 6",
        "How a second opinion is drawn, as a flow diagram.",
        GUMBEL,
        "from-one-opinion-to-another",
        ("gumbel.sample_posterior_noise", "inference.counterfactual_proba"),
        "none",
        labels=("fig:flowdiagram_inference",),
    ),
    Item(
        "Figure 3",
        "Section 6",
        "How experts are partitioned, as a flow diagram.",
        GROUPS,
        "the-graph",
        ("graph.SimilarityGraph.from_opinions", "partition.greedy"),
        "none",
        labels=("fig:flowdiagram_training",),
    ),
    Item(
        "Algorithm 1",
        "Appendix B",
        "The greedy search for groups.",
        GROUPS,
        "algorithm-1-step-by-step",
        ("partition.grow", "partition.greedy", "partition.trace"),
        "example",
        (
            Seed("example", "default_rng(7)"),
            Seed("steps shown", "default_rng(1)"),
            Seed("restarts", "default_rng(0)"),
        ),
        ("alg:greedyalg",),
        plain=CHECKED,
    ),
    Item(
        "Run time of Algorithm 1",
        "Appendix B",
        "It takes time linear in the number of edges.",
        ALGORITHM,
        "what-algorithm-1-costs",
        ("partition.greedy",),
        "benchmark",
        numbers=_run_time,
        why="The last row is not the paper's algorithm alone: around it lie matrices with a cell "
        "for each pair of experts, edge or not.",
    ),
)

ITEMS = (*_statements(), *_EQUATIONS, *_FIGURES)
"""In the order of the page: statements, equations, figures and the algorithm."""
