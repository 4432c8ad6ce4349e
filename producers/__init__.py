"""What upstream uses: build, sign and publish events over Kafka or HTTP, and import old files.

Imports schemas alone.
"""
