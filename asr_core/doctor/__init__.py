"""What people check by hand before an installation goes live, with the command that mends it."""
