//! Documents, and what must not get into them.
