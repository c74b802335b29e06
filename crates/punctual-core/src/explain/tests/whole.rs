//! Over a whole recording.
