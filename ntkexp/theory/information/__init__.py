"""Closed forms and bounds of mutual information (chapter 5 of Baratin's thesis)."""
