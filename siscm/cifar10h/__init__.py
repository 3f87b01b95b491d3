"""The paper's real experiment: CIFAR-10H, from the raw file to the tables, its twin, its audit."""
