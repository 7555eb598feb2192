"""The commands, one file each: a Click command named ``command``."""
