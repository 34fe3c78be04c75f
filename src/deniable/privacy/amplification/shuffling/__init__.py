"""Local reports that lose their senders, and what that hides."""
