"""What compiled code is made of: binding, random numbers, exact sums."""
