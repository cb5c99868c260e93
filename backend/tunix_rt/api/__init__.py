"""The HTTP server: app, middleware, static web app."""
