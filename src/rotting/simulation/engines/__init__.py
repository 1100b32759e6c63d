"""Playing games: the loop, its compilation, and the engines that play tasks."""
