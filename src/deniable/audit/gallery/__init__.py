"""A gallery of broken mechanisms, and of sound ones beside them.

Each is a few lines with what was claimed of it, who claimed it, and a pair of neighbours on which it fails; `audit()`
shows how, exactly. An auditor that misses one, or accuses a control, needs repair. "errata E64" is an entry in the
list of errors of the documents that this library began from.
"""

from deniable.audit.gallery import (  # noqa: F401  (all hang their specimens)
    composition,
    federated,
    floats,
    gaussians,
    gradients,
    keys,
    memory,
    response,
    sampling,
    selection,
    sparse_vector,
    tables,
    teaching,
    thresholds,
)
from deniable.audit.gallery.specimen import GALLERY, Specimen

__all__ = ["GALLERY", "Specimen"]
