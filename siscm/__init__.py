"""Counterfactual inference of second opinions.

Experts label cases without talking to each other. Given what one said about a case, what would
another have said? The method of Corvelo Benz and Gomez Rodriguez (UAI 2022), with an exact law in
place of sampling, and beyond it graded sharing (:class:`GradedSISCM`).

What lies in this folder is the method, and what its users call. Each folder in it holds what a part
of the book needs.
"""

from siscm import baselines, evaluation, gumbel, inference, partition
from siscm.graded import GradedSISCM
from siscm.graph import SimilarityGraph
from siscm.model import GumbelMaxSISCM
from siscm.opinions import Opinions
from siscm.pooled import PooledMarginals
from siscm.violations import violates

__version__ = "0.1.0"

__all__ = [
    "GradedSISCM",
    "GumbelMaxSISCM",
    "Opinions",
    "PooledMarginals",
    "SimilarityGraph",
    "baselines",
    "evaluation",
    "gumbel",
    "inference",
    "partition",
    "violates",
]
