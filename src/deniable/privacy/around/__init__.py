"""What turns losses into losses: composition, groups, parts, mixtures, tuning, sampling, shuffling, training."""
