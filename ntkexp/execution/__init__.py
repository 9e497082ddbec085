"""The life of a run: skip it, begin it or go on with it; with how many threads, in what memory."""
