//! A missed-slot circuit breaker for block builders.
