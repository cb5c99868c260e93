"""What we build on and what we ship: the lock, licences, the audit, bills of materials, the wheel."""
