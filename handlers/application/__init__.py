"""application: Argo CD's Application and AppProject as values, and pure decisions about them."""
