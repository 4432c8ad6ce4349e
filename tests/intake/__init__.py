"""Bad records on the intake topics of a real broker: named, counted, and passed."""
