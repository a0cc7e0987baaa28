"""One pass over one node: observe -> decide -> record intent -> perform -> record."""
