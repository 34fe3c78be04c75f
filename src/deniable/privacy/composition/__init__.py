"""What turns losses into one: composition, groups, parts, mixtures, tuning."""
