"""The paper's synthetic experiment, and what it leaves out: groups planted, and found or not."""
