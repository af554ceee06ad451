//! What runs in Python processes, and how it fares when they misbehave.

mod bridge;
mod helpers;
mod interpreters;
mod managed;
