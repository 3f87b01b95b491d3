"""Counts that several tests take of a panel."""

import pandas as pd

from siscm.data.panels import SPLITS, Panel


def opinions_per_split(panel: Panel) -> pd.DataFrame:
    """How many opinions each expert gave in each split: (H, 3)."""
    split = panel.instances["split"].to_numpy()[panel.opinions.instance_codes]
    expert = panel.opinions.experts.take(panel.opinions.expert_codes)
    table = pd.crosstab(expert, split)
    return table.reindex(index=panel.experts.index, columns=list(SPLITS), fill_value=0)
