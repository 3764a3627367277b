//! A small cluster: every question reaches the node of its key.
