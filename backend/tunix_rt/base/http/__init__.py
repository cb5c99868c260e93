"""What routes.py files share. Imported by routes and by api/ only."""
