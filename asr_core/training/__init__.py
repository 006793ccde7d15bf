"""Training of the networks that the project brings along; never imported at run time."""
