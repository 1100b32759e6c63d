"""Programs that use the library, to read and to copy."""
