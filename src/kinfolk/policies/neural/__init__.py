"""Neural policies: encode observations, compute logits, sample actions; trained or evolved."""
