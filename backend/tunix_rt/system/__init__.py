"""The installation itself: doctor, backup, health, demo, access tokens."""
