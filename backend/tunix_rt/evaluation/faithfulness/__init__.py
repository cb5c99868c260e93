"""Does the answer depend on the work shown?"""
