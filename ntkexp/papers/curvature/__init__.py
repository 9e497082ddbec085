"""Fisher matrices of any network, and the optimisers that divide by them."""

TITLE = "Deep networks training and generalization: insights from linearization"
AUTHORS = "George (thesis, chapters 3 and 4 and appendix A)"
SHORT = "Curvature"
