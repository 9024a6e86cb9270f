"""Four policies that strain the contract, each in its own way."""
