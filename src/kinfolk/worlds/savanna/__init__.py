"""Predators, prey and grass: the rules of PredPreyGrass (MIT licence, P. van Doesburg), batched.

One world switched by settings carries shared_prey (team capture), lineage_rewards (kin rewards,
caps, carcasses, juvenile diet), kick_back_rewards and limited_intake.
"""
