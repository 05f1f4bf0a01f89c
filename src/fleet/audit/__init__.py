"""Who knew what when: any record found, shown, explained and undone, from folds and an index."""
