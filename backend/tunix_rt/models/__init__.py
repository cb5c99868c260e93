"""The model registry: names, versions, content store, lookup by any name, export, cards."""
