"""Where data come from: real files and their hashes, panels of texts, and a simulator."""
