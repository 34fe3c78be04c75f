"""Estimators with the conventions of scikit-learn, which they do not import."""
