"""The procedure file: read, checked, written, drawn, and compiled to a machine. Pure, except where a path
is read."""
