"""The paper's experiment on CIFAR-10H, item by item (Sections 1 and 7, Appendix D)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from siscm import verdicts
from siscm.cifar10h import CLASSES
from siscm.conclusions import conclusions
from siscm.image_features import image_features
from siscm.model import GumbelMaxSISCM
from siscm.paper import (
    DIFFERS,
    GIVEN,
    NOT_RUN,
    QUOTED,
    REPRODUCED,
    TWIN,
    Contents,
    Item,
    Number,
    Seed,
    default,
    figures,
    judged,
    near,
    setting,
)
from siscm.preprocessing import LEAST_EXPERTS, preprocess
from siscm.vgg19 import N_FEATURES

DATA, CHAPTER = "10_cifar10h_data", "11_cifar10h_experiment"

_TWIN = Seed("twin", "cifar10h_data.TWIN_SEED")
_SPLIT = Seed("split", "preprocessing.preprocess(seed)")
_MODEL = Seed("restarts of Algorithm 1", "model.GumbelMaxSISCM(random_state)")
_ALL = (_TWIN, _SPLIT, _MODEL)

_COMPARED = ("GNB, all pairs", "GNB + CNB, all pairs", "GNB, same group", "GNB + CNB, same group")


def _data_set(contents: Contents) -> Iterable[Number]:
    """What CIFAR-10H holds: from the published counts, and from the raw file."""
    content = contents["cifar10h"]
    paper, counts = content["paper"], content["counts"]["figures"]
    yield setting("classes", paper["setup"]["classes"], len(CLASSES))
    yield near("images, by the counts", paper["sizes"]["images"], counts["images"], 0)
    allowed = content["judged_by"]["counts"]["opinions_an_image"]
    ours = counts["opinions"] / counts["images"]
    about = paper["setup"]["opinions_an_image"]
    yield near("opinions an image, by the counts", about, ours, allowed)
    yield from figures(("raw", "images"), ("raw", "annotators"))(contents)


def _filter(contents: Contents) -> Iterable[Number]:
    """What the filter asks for."""
    paper = contents["cifar10h"]["paper"]["setup"]
    more = default(preprocess, "reading") == "released"
    for part, argument in {"training": "min_train", "test": "min_test"}.items():
        ours = default(preprocess, argument) + more
        yield setting(f"least opinions in {part}", paper[f"least_{part}_opinions"], ours)
    yield setting("least experts an image", paper["least_experts_an_image"], LEAST_EXPERTS)


def _quoted(contents: Contents) -> Iterable[Number]:
    """The figure from medicine that motivates the filter."""
    share = contents["cifar10h"]["paper"]["setup"]["medical_disagreement_quoted"]
    yield Number("disagreement on a diagnosis", f"{share:.0%}", "·", "not ours", QUOTED)


def _sizes(contents: Contents) -> Iterable[Number]:
    """What the filter leaves, and the sum that the paper's introduction names."""
    content = contents["cifar10h"]
    exact = content["judged_by"]["exactly"]
    yield from figures(*(("sizes", name) for name in exact))(contents)
    both = content["paper"]["setup"]["images_in_the_experiment"]
    summed = verdicts.Criterion("images, both sets", ("sum",), ((both,),), (0,), "exactly")

    def sum_of(figures: dict[str, Any]) -> dict[str, int]:
        return {"sum": figures["sizes"]["training_images"] + figures["sizes"]["test_images"]}

    real = content["real"] and {"figures": sum_of(content["real"]["figures"])}
    yield judged(summed, {"twin": sum_of(content["twin"]), "real": real})


def _model(contents: Contents) -> Iterable[Number]:
    """How marginals, groups and predictions are made."""
    paper = contents["cifar10h"]["paper"]["setup"]
    yield setting("features of the network", paper["network_features"], N_FEATURES)
    kept = image_features().get_params()["pca__n_components"]
    yield setting("of these, after PCA", paper["features"], kept)
    restarts = default(GumbelMaxSISCM, "n_restarts")
    yield setting("restarts of Algorithm 1", paper["restarts"], restarts)
    method = default(GumbelMaxSISCM, "method")
    verdict = DIFFERS if method == "exact" else GIVEN
    yield Number("samples a distribution", f"{paper['samples']:,}", method, "the same", verdict)


def _conclusions(contents: Contents) -> Iterable[Number]:
    """The paper's sentences about its figures."""
    content = contents["cifar10h"]
    real = content["real"]
    found = conclusions(content["twin"] if real is None else real["figures"])
    said = conclusions(content["paper"])["here"]
    for name, row in found.iterrows():
        verdict = REPRODUCED if row["agrees"] else DIFFERS
        here = row["here"] if real else f"{TWIN}{row['here']}"
        words = str(said[str(name)])
        yield Number(str(name), words, here, "same order", verdict if real else NOT_RUN)


ITEMS = (
    Item(
        "The data set",
        "Section 7",
        "Images, classes, annotators and opinions of CIFAR-10H.",
        DATA,
        "how-far-people-agree",
        ("cifar10h.load_cifar10h_counts", "published.count_figures", "published.raw_figures"),
        "counts",
        (_TWIN,),
        numbers=_data_set,
        why="The counts are real, and seem to lack some annotators of the raw file; "
        "[the audit](../notebooks/12_cifar10h_audit.ipynb) asks who they are.",
    ),
    Item(
        "Full agreement",
        "Section 7",
        "On about this share of the images all annotators say the same; they are dropped.",
        DATA,
        "how-far-people-agree",
        ("published.raw_figures", "published.agreement"),
        "raw",
        (_TWIN,),
        numbers=figures(("raw", "full_agreement")),
        why="The twin was calibrated to it. The published counts, which lack some annotators, "
        "show more: the chapter has their figure.",
    ),
    Item(
        "Disagreement in medicine",
        "Section 7",
        "What typically divides experts on a diagnosis; motivates the filter.",
        DATA,
        "what-the-filter-keeps",
        ("preprocessing.with_disagreement",),
        "none",
        numbers=_quoted,
    ),
    Item(
        "The filter",
        "Section 7",
        "Who made fewer opinions is dropped, and who lacks a label in training.",
        DATA,
        "what-the-filter-keeps",
        ("preprocessing.preprocess",),
        "raw",
        _ALL[:2],
        numbers=_filter,
        why="The released code asks for more than these numbers, the paper for no fewer; the book "
        "follows the code, under which the paper's sizes came about "
        "([differences](differences.md)).",
    ),
    Item(
        "Sizes of the experiment",
        "Sections 1 and 7",
        "Experts, images and opinions that the filter leaves.",
        CHAPTER,
        "sizes",
        ("preprocessing.preprocess", "verdicts.figures"),
        "raw",
        _ALL[:2],
        numbers=_sizes,
        why="The twin was calibrated to these sizes.",
    ),
    Item(
        "Marginals and model",
        "Section 7, Appendix B",
        "Gaussian naive Bayes on features by VGG19, and how groups are searched for.",
        DATA,
        "what-the-model-sees-of-an-image",
        ("image_features.image_features", "vgg19.compute_features", "experiment.run"),
        "raw",
        _ALL,
        numbers=_model,
        why="No samples are drawn: each distribution is computed in closed form. The network's "
        "weights are torchvision's, not the paper's.",
    ),
    Item(
        "Violations and groups",
        "Section 7",
        "What Algorithm 1 finds in the training set.",
        CHAPTER,
        "violations-and-groups",
        ("graph.SimilarityGraph.from_opinions", "partition.greedy", "verdicts.figures"),
        "raw",
        _ALL,
        numbers=figures(
            *(("sizes", name) for name in ("pairs_in_violation", "groups", "singleton_groups"))
        ),
        why="The paper does not say whether pairs of experts are counted once or in both orders; "
        "either is accepted.",
    ),
    Item(
        "Table 1",
        "Section 7",
        "Test accuracy of three models in three scenarios.",
        CHAPTER,
        "table-1",
        ("experiment.run", "rivals.ProductWithCNB", "evaluation.all_pairs", "evaluation.accuracy"),
        "raw",
        _ALL,
        ("tab:acc_table",),
        numbers=figures(("accuracy",)),
        why="The twin was calibrated to the accuracy of GNB over all pairs.",
    ),
    Item(
        "Figure 4",
        "Section 7",
        "Accuracy expert by expert: the model against both baselines, and for how many it wins.",
        CHAPTER,
        "expert-by-expert",
        ("evaluation.per_expert", "plots_experiment.draw_per_expert"),
        "raw",
        _ALL,
        ("fig:results_real",),
        numbers=figures(*(("experts_better_off", f"SI-SCM above {one}") for one in _COMPARED)),
    ),
    Item(
        "Figure 5",
        "Section 7",
        "GNB + CNB, each expert inferred from her own group and from others.",
        CHAPTER,
        "expert-by-expert",
        ("evaluation.per_expert", "plots_experiment.draw_per_expert"),
        "raw",
        _ALL,
        ("fig:results_real_2",),
        numbers=figures(("experts_better_off", "GNB + CNB, same group above different")),
    ),
    Item(
        "Experts without a same-group pair",
        "Section 7, footnote",
        "Who is missing from the same-group scenario; the others of them, four in the paper, are "
        "on no test image with their group.",
        CHAPTER,
        "expert-by-expert",
        ("verdicts.without_same_group_pair",),
        "raw",
        _ALL,
        numbers=figures(("sizes", "experts_without_same_group_pair"), ("sizes", "of_these_alone")),
    ),
    Item(
        "Conclusions",
        "Section 7",
        "The paper's sentences about Table 1 and Figures 4 and 5.",
        CHAPTER,
        "what-the-paper-concludes",
        ("conclusions.conclusions",),
        "raw",
        _ALL,
        numbers=_conclusions,
        why="The twin's opinions are drawn under the paper's model, so what comes out there is no "
        "evidence about people.",
    ),
    Item(
        "Figure 7",
        "Appendix D",
        "Which models the experiment compares, as a flow diagram.",
        CHAPTER,
        "the-question",
        ("baselines.gumbel_max", "baselines.marginals_only", "rivals.ProductWithCNB"),
        "none",
        labels=("fig:flowdiag_experiments",),
    ),
    Item(
        "Figure 8",
        "Appendix D",
        "Sizes of the groups found.",
        CHAPTER,
        "violations-and-groups",
        ("plots_experiment.draw_group_sizes",),
        "raw",
        _ALL,
        ("fig:results_groups",),
    ),
    Item(
        "Figure 9",
        "Appendix D",
        "Confusion matrices of the three models.",
        CHAPTER,
        "what-is-taken-for-what",
        ("evaluation.confusion", "plots_experiment.draw_confusion"),
        "raw",
        _ALL,
        ("fig:confusion_matrices",),
    ),
)
"""In the order of the paper, the appendix's figures last."""
