"""Does a recipe fit, how long does it take, what would make it fit?"""
