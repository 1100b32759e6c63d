"""What compiled code is built from: binding, nested states, random numbers, exact sums."""
