"""Where two forms of one model differ: layer by layer, and in their tokens."""
