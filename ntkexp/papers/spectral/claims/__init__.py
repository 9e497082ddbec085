"""The statements of the chapter and its appendix; every network of a run of members is a case."""
