"""Sets of images: their files, their options, and which of them a network sees, as what."""
