"""The paper's numbers beside ours where a rule has to say which are compared, an item a function.

``expected/paper.toml`` names the function of an item. What a run on the real CIFAR-10H is judged by
needs none: there :func:`siscm.compendium.paper.figures` finds both numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from siscm.cifar10h import verdicts
from siscm.cifar10h.conclusions import conclusions
from siscm.cifar10h.counts import CLASSES
from siscm.cifar10h.image_features import image_features
from siscm.cifar10h.preprocessing import LEAST_EXPERTS, preprocess
from siscm.cifar10h.vgg19 import N_FEATURES
from siscm.compendium import measured
from siscm.compendium.paper import (
    DIFFERS,
    NOT_RUN,
    QUOTED,
    REPRODUCED,
    TWIN,
    Contents,
    Number,
    at_least,
    default,
    figures,
    judged,
    near,
    setting,
)
from siscm.model import GumbelMaxSISCM
from siscm.synthetic import sweep
from siscm.synthetic.planted import GROUP_SIZES, LEAST_OPINIONS, make_synthetic_panel
from siscm.synthetic.sweep_figures import ALIKE, NEAR_ONE, SHOWN, THRESHOLD


def run_time(contents: Contents) -> Iterable[Number]:
    """That Algorithm 1 is at most linear in the edges: by what it looks at, and by its time."""
    synthetic, found = contents["synthetic"], measured.results("algorithm1")["figures"]
    paper = synthetic["paper"]["claim"]["exponent_of_edges_in_run_time"]
    most = paper + synthetic["judged_by"]["exponent_of_edges_in_run_time"]["absolute"]
    said = {"looked": "candidates looked at", "search_seconds": "seconds of the search"}
    words = {
        f"{family}_{key}_exponent": f"{said[key]}, {family} graphs"
        for key in said
        for family in ("sparse", "dense", "complete")
    }
    for key, name in words.items():
        verdict = REPRODUCED if found[key] <= most else DIFFERS
        here = f"{found[key]:.2f}"
        name = f"power of the edges: {name}"
        yield Number(name, f"{paper:.2f}", here, f"at most {most:g}", verdict)


def set_up(contents: Contents) -> Iterable[Number]:
    """The sizes of the experiment, as the sweep has them."""
    paper = contents["synthetic"]["paper"]["setup"]
    ours = {
        "experts": sum(GROUP_SIZES),
        "group_sizes": list(GROUP_SIZES),
        "classes": default(make_synthetic_panel, "n_classes"),
        "features": default(make_synthetic_panel, "n_features"),
        "test_instances": sweep.N_TEST,
        "repeats": sweep.N_REPEATS,
        "restarts": sweep.N_RESTARTS,
        "least_opinions_an_instance": LEAST_OPINIONS,
    }
    words = {"classes": "labels", "test_instances": "held-out instances"}
    for key, value in ours.items():
        yield setting(words.get(key, key.replace("_", " ")), paper[key], value)
    yield setting("samples a distribution", paper["samples"], default(GumbelMaxSISCM, "method"))


def claim(contents: Contents) -> Iterable[Number]:
    """What is so above the paper's edge ratio, run by run."""
    synthetic = contents["synthetic"]
    claim = synthetic["paper"]["claim"]
    found = synthetic["ours"]["figures"]["claims"][f"{claim['edge_ratio_above']:g}"]
    words = {
        "ari_near_one": (f"runs with an ARI of {NEAR_ONE} or more", "ari"),
        "losses_alike": (f"runs with a loss within {ALIKE} of the true groups'", "zero_one_losses"),
    }
    for key, (name, said) in words.items():
        least = synthetic["judged_by"][key]["at_least"]
        yield at_least(f"r > {THRESHOLD}: {name}", claim[said], found[key], least)


def loss_of_the_true_groups(contents: Contents) -> Iterable[Number]:
    """That even the true groups do not make the loss zero."""
    cells = contents["synthetic"]["ours"]["figures"]["cells"].values()
    lowest = min(cell[SHOWN.index("zero_one_true")] for cell in cells)
    verdict = REPRODUCED if lowest > 0 else DIFFERS
    yield Number("0/1 loss with the true groups", "above 0", f"{lowest:g}", "above 0", verdict)


def data_set(contents: Contents) -> Iterable[Number]:
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


def kept_by_the_filter(contents: Contents) -> Iterable[Number]:
    """What the filter asks for."""
    paper = contents["cifar10h"]["paper"]["setup"]
    more = default(preprocess, "reading") == "released"
    for part, argument in {"training": "min_train", "test": "min_test"}.items():
        ours = default(preprocess, argument) + more
        yield setting(f"least opinions in {part}", paper[f"least_{part}_opinions"], ours)
    yield setting("least experts an image", paper["least_experts_an_image"], LEAST_EXPERTS)


def disagreement_in_medicine(contents: Contents) -> Iterable[Number]:
    """The figure from medicine that motivates the filter."""
    share = contents["cifar10h"]["paper"]["setup"]["medical_disagreement_quoted"]
    yield Number("disagreement on a diagnosis", f"{share:.0%}", "·", "not ours", QUOTED)


def sizes(contents: Contents) -> Iterable[Number]:
    """What the filter leaves, and the sum that the paper's introduction names."""
    content = contents["cifar10h"]
    exact = content["judged_by"]["exactly"]
    yield from figures(*(("sizes", name) for name in exact))(contents)
    both = content["paper"]["setup"]["images_in_the_experiment"]
    summed = verdicts.Criterion("images, both sets", ("sum",), (both,), "exactly")

    def sum_of(figures: dict[str, Any]) -> dict[str, int]:
        return {"sum": figures["sizes"]["training_images"] + figures["sizes"]["test_images"]}

    real = content["real"] and {"figures": sum_of(content["real"]["figures"])}
    yield judged(summed, {"twin": sum_of(content["twin"]), "real": real})


def model(contents: Contents) -> Iterable[Number]:
    """How marginals, groups and predictions are made."""
    paper = contents["cifar10h"]["paper"]["setup"]
    yield setting("features of the network", paper["network_features"], N_FEATURES)
    kept = image_features().get_params()["pca__n_components"]
    yield setting("of these, after PCA", paper["features"], kept)
    restarts = default(GumbelMaxSISCM, "n_restarts")
    yield setting("restarts of Algorithm 1", paper["restarts"], restarts)
    yield setting("samples a distribution", paper["samples"], default(GumbelMaxSISCM, "method"))


def sentences(contents: Contents) -> Iterable[Number]:
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
