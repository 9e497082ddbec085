"""Formulas of "Lazy vs hasty", chapter 5 of George's thesis."""
