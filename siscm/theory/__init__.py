"""The paper's statements (Sections 4 and 5), checked on models small enough to enumerate."""
