//! A pod: a process of a service with annotated functions, which calls them when told to on its standard input.

#[tokio::main]
async fn main() {
    coalesce_rig::serve().await;
}
