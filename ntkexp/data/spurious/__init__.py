"""Images of two classes with an attribute that mostly, and not always, tells the class."""
