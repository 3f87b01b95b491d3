"""The kinds of data that pages show: their names, colours, and what a banner says of them."""

from __future__ import annotations

from typing import Literal

Data = Literal["simulated", "twin", "real", "own", "recorded", "example", "synthetic", "benchmark"]
"""The kinds of data that a table or a figure can show."""

LABELS: dict[Data, str] = {
    "simulated": "simulated data",
    "twin": "simulated twin",
    "real": "real data",
    "own": "your data",
    "recorded": "recorded on the real files",
    "example": "worked example",
    "synthetic": "synthetic experts",
    "benchmark": "measured speed",
}
"""How each kind of data is named on every table and figure."""

COLOURS: dict[Data, str] = {
    "simulated": "#8a4b00",
    "twin": "#8a4b00",
    "real": "#0b5a3c",
    "own": "#0b5a3c",
    "recorded": "#134b8a",
    "example": "#4a4a4a",
    "synthetic": "#4a4a4a",
    "benchmark": "#5b2a86",
}

BANNERS: dict[Data, str] = {
    "simulated": "The panels on this page are simulated: shaped like the real ones, filled with "
    "invented opinions. These are drawn from a Gumbel-Max SI-SCM, the paper's own model, so that "
    "it and its kin are at an advantage here. Tables marked 'recorded on the real files' are the "
    "exception.",
    "twin": "CIFAR-10H on this page is a simulated twin: the true file's columns and sizes, "
    "invented annotators, opinions and images. It was calibrated to figures that the paper "
    "gives, so agreement with them is no evidence. Tables marked otherwise are the exception.",
    "real": "The data on this page are the real files.",
    "own": "The data on this page are the files that you named. Tables marked otherwise are the "
    "exception.",
    "example": "Every number on this page comes from made-up experts; no panel is used.",
    "synthetic": "The experts on this page are made up, as in the paper's synthetic experiment: "
    "their habits and groups are known. No data file is read.",
}
"""What the first thing on a page says."""
