"""One file, one policy. The registry finds them; CONTRIBUTING shows how to add one."""
