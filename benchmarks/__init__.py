"""Scripts that print figures with the machine they were measured on."""
