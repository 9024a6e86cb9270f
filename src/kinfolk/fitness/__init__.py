"""Fitness functions of neuroevolution: worlds, imitation, adversarial imitation; higher is better."""
