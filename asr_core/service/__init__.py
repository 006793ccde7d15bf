"""What the server answers besides the page."""
