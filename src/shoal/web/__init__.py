"""The pages: the figures of a running stream, in a browser and for Prometheus; and the lab."""

from shoal.web.access import token_for
from shoal.web.lab import lab_app, serve_lab
from shoal.web.page import page
from shoal.web.server import serve

__all__ = ["lab_app", "page", "serve", "serve_lab", "token_for"]
