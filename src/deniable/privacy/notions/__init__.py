"""Privacy notions besides epsilon and delta, and conversions between them."""
