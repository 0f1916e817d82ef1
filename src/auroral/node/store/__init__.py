"""What cores keep on disk over their lives."""
