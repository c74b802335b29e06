//! stub
pub mod recording;
