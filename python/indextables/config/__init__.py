"""All configuration keys, in one typed registry; no other module names a key."""
