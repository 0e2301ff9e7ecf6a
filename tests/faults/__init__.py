"""Real processes, real servers, and everything that breaks between them; see README.md."""
