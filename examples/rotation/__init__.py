"""An advertising server whose creatives come and go."""
