"""Commands of people and of the service, written into the Application for everybody to see."""
