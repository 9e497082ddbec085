"""What a network learns first when its features move, and when they do not."""

TITLE = "Lazy vs hasty: linearization in deep networks impacts learning schedule"
AUTHORS = "George, Lajoie, Baratin (TMLR 2022; chapter 5 of George's thesis)"
SHORT = "Lazy and hasty training"
