"""The paper's synthetic experiment, and what it does not show: groups planted, and found or not."""
