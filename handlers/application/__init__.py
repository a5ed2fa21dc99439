"""The Application and AppProject (argoproj.io/v1alpha1) as values, and what is decided about them."""
