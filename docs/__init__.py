"""Scripts that write the pages of this folder."""
