"""The statements of the text, and questions of ours, a file for each kind of experiment."""
