"""The statements of chapter 5 and appendix C, by the experiment that they are about."""
