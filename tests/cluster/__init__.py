"""The cluster on a real broker: crashes, rivals, bad bytes, the same bytes as embedded."""
