"""Do two engines, or two runs of one, train the same?"""
