"""Every configuration key, in one typed registry; no other module spells a key."""
