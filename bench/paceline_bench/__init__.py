"""What Paceline is measured with: a simulated API, a driver of the real client, the demo."""
