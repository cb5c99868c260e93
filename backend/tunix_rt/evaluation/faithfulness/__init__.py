"""Does the answer depend on the reasoning steps?"""
