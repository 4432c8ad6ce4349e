"""What public trackers report, as tests named by what is right (the cases by number)."""
