"""What commands.py and views.py files share."""
