"""The paper's statements (Sections 4 to 6), checked on models small enough to enumerate."""
