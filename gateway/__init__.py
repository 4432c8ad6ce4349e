"""What is asked: recall, release, audit and export, over Python and HTTP, one application layer.

Imports projections and schemas; decides nothing and publishes nothing by itself.
"""
