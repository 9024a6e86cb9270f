"""The training job: settings, plan, state, evaluation while training."""
