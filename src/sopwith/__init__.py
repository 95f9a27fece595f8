"""Sopwith: make any language model execute an enterprise's procedures exactly."""
