//! Forms of an audit, on evidence that means harm.
