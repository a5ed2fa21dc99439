"""The Application and AppProject of argoproj.io/v1alpha1 as values, and what is decided of them."""
