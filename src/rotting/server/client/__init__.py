"""The client of a service: its methods make requests, `retries` decides when to send them, and `transport` sends them."""
