"""The extended latent step in a run: values beside agreement, estimated again together, reported."""
