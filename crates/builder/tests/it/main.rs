//! Tests of the builder breaker.
