"""Features in the form that is cheap to multiply, and what is computed from this form."""
