"""What the developers run and nobody installs."""
