"""The client of a service: its methods make requests, `retries` decides when to send them, and `transport` sends them."""

from rotting.errors import MissingExtraError

try:
    import msgspec  # noqa: F401
    import pyreqwest  # noqa: F401
except ImportError as error:
    raise MissingExtraError("the client needs pyreqwest and msgspec: pip install 'rotting[client]'") from error
