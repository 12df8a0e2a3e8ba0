"""The live page: what can be told of a running stream, in a browser and for Prometheus."""

from shoal.web.page import page
from shoal.web.server import serve

__all__ = ["page", "serve"]
