"""What compiled code is built from: binding, the functions and states of policies, random numbers, exact sums."""
