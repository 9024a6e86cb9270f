"""Evaluators for neuroevolution: worlds, imitation, adversarial matching. Higher is better."""
