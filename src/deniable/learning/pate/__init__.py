"""PATE: teachers of disjoint parts of private rows, who answer by noisy votes."""
