//! Artefacts for people who build images: text and values that need no live change.
