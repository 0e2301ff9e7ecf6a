"""The command `holdfast demo`, and the samples of the documentation, run for real."""
