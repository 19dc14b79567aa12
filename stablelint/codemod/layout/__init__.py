"""Line breaks as a formatter would set them."""
