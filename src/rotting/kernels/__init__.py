"""What compiled code is made of: binding, nested states, random numbers, exact sums."""
