"""What the book is made with: marked tables and figures, records, and the page *Provenance*."""
