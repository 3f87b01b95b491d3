"""Beyond the paper: graded sharing, panels of texts, whom to ask, files of one's own, chunks."""
