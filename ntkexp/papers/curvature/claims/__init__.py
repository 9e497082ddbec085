"""The statements of chapters 3 and 4 and of appendix A, by the figure that they are about."""
