"""One file a resource: a route parses, calls one service, returns a type."""
