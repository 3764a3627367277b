//! The in-memory coordinator, in time that passes only when everybody waits.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use coalesce_runtime::coordination::Reply;
use coalesce_runtime::{Key, MemoryCoordinator};

use crate::world::{Plant, Subject, World};

struct Memory;

impl Subject for Memory {
    fn run(case: impl AsyncFnOnce(&World)) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let here = MemoryCoordinator::new();
            let (there, planter) = (here.clone(), here.clone());
            let grain = Duration::from_millis(1);
            case(&World::new(
                Arc::new(here),
                Arc::new(there),
                Box::new(planter),
                grain,
            ))
            .await;
        });
    }
}

impl Plant for MemoryCoordinator {
    fn plant<'a>(&'a self, key: &'a Key, state: Bytes, life: Duration) -> Reply<'a, ()> {
        self.plant(key, state, life);
        Box::pin(ready(Ok(())))
    }
}

crate::cases::run_all_on!(Memory);
